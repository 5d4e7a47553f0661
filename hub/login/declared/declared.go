package declared

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// lookEvery is how often the file of declared providers and the files
	// that it names are read again.
	lookEvery = 5 * time.Second
	// maxTries limits the attempts per provider, because another replica
	// may do the same at the same time.
	maxTries = 3
	// maxBytes limits each of the files, in bytes.
	maxBytes = 1 << 20
)

// provider is a login provider in the file.
type provider struct {
	Name             string            `json:"name"`
	Title            string            `json:"title,omitempty"`
	Issuer           string            `json:"issuer"`
	ClientID         string            `json:"clientId"`
	ClientSecretFile string            `json:"clientSecretFile,omitempty"`
	Scopes           []string          `json:"scopes,omitempty"`
	GroupsClaim      string            `json:"groupsClaim,omitempty"`
	Groups           map[string]string `json:"groups,omitempty"`
	EmailDomains     []string          `json:"emailDomains,omitempty"`
	AllowUnverified  bool              `json:"allowUnverified,omitempty"`
	CAFile           string            `json:"caFile,omitempty"`

	// From the files that it names.
	checked account.Provider
	secret  string
}

// Keeper stores login providers.
type Keeper interface {
	DeclareProvider(ctx context.Context, by identity.Principal, p account.Provider, secret string) (bool, error)
}

// Providers keeps the login providers equal to a file, for hubs that are installed
// from Git without manual steps. Each replica does so, and changes nothing that
// already equals its file; a provider that was removed from the file stays.
type Providers struct {
	path     string
	accounts Keeper
	clock    clock.Clock
	log      *slog.Logger

	// done is the hash of what was last declared.
	done [sha256.Size]byte
}

// New returns nil without a file, whose Run only waits, and refuses an invalid one: a hub that
// starts without its login provider would otherwise only be noticed by users.
func New(path string, keeper Keeper, c clock.Clock, log *slog.Logger) (*Providers, error) {
	if path == "" {
		return nil, nil
	}
	d := &Providers{path: path, accounts: keeper, clock: c, log: log}
	_, err := d.read()
	return d, err
}

// read reads all files. Invalid names the file and the provider.
func (d *Providers) read() ([]provider, error) {
	text, err := readFile(d.path)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--login-providers: %w", err)
	}
	var file struct {
		Providers []provider `json:"providers"`
	}
	if err := yaml.UnmarshalStrict(text, &file); err != nil {
		return nil, errcode.New(errcode.Invalid, "--login-providers %s: %w", d.path, err)
	}
	seen := map[string]bool{}
	for i := range file.Providers {
		p := &file.Providers[i]
		if err := p.fill(filepath.Dir(d.path)); err != nil {
			return nil, errcode.New(errcode.Invalid, "--login-providers %s: providers[%d] %s: %w", d.path, i, p.Name, err)
		}
		if seen[p.Name] {
			return nil, errcode.New(errcode.Invalid, "--login-providers %s: providers[%d]: the name %s is used twice", d.path, i, p.Name)
		}
		seen[p.Name] = true
	}
	return file.Providers, nil
}

// fill reads the files of a provider; relative paths are relative to the
// declaration.
func (p *provider) fill(dir string) error {
	read := func(field, name string) (string, error) {
		if name == "" {
			return "", nil
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		text, err := readFile(name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", field, err)
		}
		if len(text) == 0 {
			return "", fmt.Errorf("%s: %s is empty", field, name)
		}
		return string(text), nil
	}
	secret, err := read("clientSecretFile", p.ClientSecretFile)
	if err != nil {
		return err
	}
	p.secret = strings.TrimRight(secret, "\r\n")
	ca, err := read("caFile", p.CAFile)
	if err != nil {
		return err
	}
	p.checked = account.Provider{
		Name: p.Name, Title: p.Title, Issuer: p.Issuer, ClientID: p.ClientID, Scopes: p.Scopes, GroupsClaim: p.GroupsClaim, Groups: p.Groups,
		EmailDomains: p.EmailDomains, AllowUnverified: p.AllowUnverified, CAPEM: ca,
	}
	return account.CheckProvider(p.checked)
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxBytes)
	}
	return os.ReadFile(path)
}

// Run declares at once and whenever a file changed.
func (d *Providers) Run(ctx context.Context) error {
	if d == nil {
		<-ctx.Done()
		return nil
	}
	for {
		if err := d.declare(ctx); err != nil && ctx.Err() == nil {
			d.log.Error("not all declared login providers could be applied", logkey.Path, d.path, logkey.Error, err)
		}
		select {
		case <-d.clock.After(lookEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// declare makes the providers equal to the files, if these changed since the
// last success.
func (d *Providers) declare(ctx context.Context) error {
	all, err := d.read()
	if err != nil {
		return err
	}
	sum, err := sumOf(all)
	if err != nil || sum == d.done {
		return err
	}
	var failed []error
	for _, p := range all {
		changed, err := d.one(ctx, p)
		if err != nil {
			failed = append(failed, fmt.Errorf("login provider %s: %w", p.Name, err))
		} else if changed {
			d.log.Info("a declared login provider was applied", "provider", p.Name)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	d.done = sum
	return nil
}

func (d *Providers) one(ctx context.Context, p provider) (changed bool, err error) {
	for range maxTries {
		changed, err = d.accounts.DeclareProvider(ctx, identity.Principal{Name: "axle-hub --login-providers"}, p.checked, p.secret)
		if !errcode.Is(err, errcode.Conflict) {
			return changed, err
		}
	}
	return changed, err
}

func sumOf(all []provider) ([sha256.Size]byte, error) {
	type whole struct {
		P account.Provider
		S string
	}
	list := make([]whole, len(all))
	for i, p := range all {
		list[i] = whole{p.checked, p.secret}
	}
	text, err := json.Marshal(list)
	return sha256.Sum256(text), err
}
