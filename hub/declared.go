package hub

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
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// declaredLook is how often the file of declared providers and the files
	// that it names are read again.
	declaredLook = 5 * time.Second
	// declaredTries bounds the attempts at one provider at a time, against
	// another replica that does the same at the same moment.
	declaredTries = 3
	// maxDeclared bounds each of the files, in bytes.
	maxDeclared = 1 << 20
)

// declaredProvider is a login provider as the file says it.
type declaredProvider struct {
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
	provider identity.Provider
	secret   string
}

// providerKeeper keeps login providers.
type providerKeeper interface {
	DeclareProvider(ctx context.Context, by identity.Principal, p identity.Provider, secret string) (bool, error)
}

// declared keeps the login providers as a file says them: whoever installs a
// hub from Git has no hand on it. Each replica does, and changes nothing that
// is as its file says; a provider that is in no file any more stays.
type declared struct {
	path     string
	identity providerKeeper
	clock    clock.Clock
	log      *slog.Logger

	// done is the sum of what was declared last.
	done [sha256.Size]byte
}

// newDeclared returns nil without a file, and refuses one that is wrong: a hub
// that starts without its way in would only be noticed by those before it.
func newDeclared(path string, keeper providerKeeper, c clock.Clock, log *slog.Logger) (*declared, error) {
	if path == "" {
		return nil, nil
	}
	d := &declared{path: path, identity: keeper, clock: c, log: log}
	_, err := d.read()
	return d, err
}

// read reads all files. Invalid names the file and the provider.
func (d *declared) read() ([]declaredProvider, error) {
	text, err := readDeclared(d.path)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "--login-providers: %w", err)
	}
	var file struct {
		Providers []declaredProvider `json:"providers"`
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
			return nil, errcode.New(errcode.Invalid, "--login-providers %s: providers[%d]: there are two called %s", d.path, i, p.Name)
		}
		seen[p.Name] = true
	}
	return file.Providers, nil
}

// fill reads the files of one; they lie beside the declaration unless their
// paths say otherwise.
func (p *declaredProvider) fill(dir string) error {
	read := func(field, name string) (string, error) {
		if name == "" {
			return "", nil
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		text, err := readDeclared(name)
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
	p.provider = identity.Provider{
		Name: p.Name, Title: p.Title, Issuer: p.Issuer, ClientID: p.ClientID, Scopes: p.Scopes, GroupsClaim: p.GroupsClaim, Groups: p.Groups,
		EmailDomains: p.EmailDomains, AllowUnverified: p.AllowUnverified, CAPEM: ca,
	}
	return identity.CheckProvider(p.provider)
}

func readDeclared(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxDeclared {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxDeclared)
	}
	return os.ReadFile(path)
}

// Run declares, at once and whenever a file changed.
func (d *declared) Run(ctx context.Context) error {
	if d == nil {
		<-ctx.Done()
		return nil
	}
	for {
		if err := d.declare(ctx); err != nil && ctx.Err() == nil {
			d.log.Error("the declared login providers are not all in place", logkey.Path, d.path, logkey.Error, err)
		}
		select {
		case <-d.clock.After(declaredLook):
		case <-ctx.Done():
			return nil
		}
	}
}

// declare makes the providers what the files say if that changed since the
// last time that it worked.
func (d *declared) declare(ctx context.Context) error {
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
			d.log.Info("a login provider is as its declaration says", "provider", p.Name)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	d.done = sum
	return nil
}

func (d *declared) one(ctx context.Context, p declaredProvider) (changed bool, err error) {
	for range declaredTries {
		changed, err = d.identity.DeclareProvider(ctx, identity.Principal{Name: "axle-hub --login-providers"}, p.provider, p.secret)
		if !errcode.Is(err, errcode.Conflict) {
			return changed, err
		}
	}
	return changed, err
}

func sumOf(all []declaredProvider) ([sha256.Size]byte, error) {
	type whole struct {
		P identity.Provider
		S string
	}
	list := make([]whole, len(all))
	for i, p := range all {
		list[i] = whole{p.provider, p.secret}
	}
	text, err := json.Marshal(list)
	return sha256.Sum256(text), err
}
