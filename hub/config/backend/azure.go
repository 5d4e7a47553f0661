package backend

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// AzureConfig configures one Azure Key Vault. Without a client secret the hub's
// workload identity is used.
type AzureConfig struct {
	// VaultURL is the vault's URL, such as https://acme.vault.azure.net.
	VaultURL         string `json:"vaultURL"`
	TenantID         string `json:"tenantID,omitempty"`
	ClientID         string `json:"clientID,omitempty"`
	ClientSecretFile string `json:"clientSecretFile,omitempty"`
	// Authority replaces the default authority that issues tokens.
	Authority string              `json:"authority,omitempty"`
	Getenv    func(string) string `json:"-"`
}

// Azure is one Azure Key Vault.
type Azure struct {
	AzureConfig
	client *http.Client
	auth   wire.Auth
}

// NewAzure checks the configuration. It opens no connection.
func NewAzure(c AzureConfig) (*Azure, error) {
	if err := checkEndpoint("vaultURL", c.VaultURL); err != nil {
		return nil, err
	}
	if c.Authority != "" {
		if err := checkEndpoint("authority", c.Authority); err != nil {
			return nil, err
		}
	}
	c.VaultURL = strings.TrimSuffix(c.VaultURL, "/")
	tokens, err := tokenClient(strings.HasPrefix(c.VaultURL, "http://"))
	if err != nil {
		return nil, err
	}
	app := &cloudauth.Azure{TenantID: c.TenantID, ClientID: c.ClientID, Endpoint: c.Authority, HubIdentity: true, Client: tokens, Env: cloudauth.Operators(c.Getenv, c.VaultURL, c.Authority)}
	if c.ClientSecretFile != "" {
		if app.ClientSecret, err = secretFile("clientSecretFile", c.ClientSecretFile); err != nil {
			return nil, err
		}
	}
	client, err := newHTTP("")
	return &Azure{AzureConfig: c, client: client, auth: app.KeyVault()}, err
}

const (
	azureName    = "Azure Key Vault"
	azureVersion = "?api-version=7.4"
)

func (s *Azure) ask(ctx context.Context, method, path string, body any) (answer, error) {
	return do(ctx, s.client, call{
		what: azureName, method: method, url: s.VaultURL + path + azureVersion, body: body,
		sign: func(ctx context.Context, r *http.Request, _ []byte) error { return s.auth.Apply(ctx, r) },
	})
}

var azureSecret = regexp.MustCompile(`^[a-zA-Z0-9-]{1,127}$`)

func checkAzureName(path string) error {
	name, version, _ := strings.Cut(path, "/")
	if !azureSecret.MatchString(name) || version != "" && !azureSecret.MatchString(version) {
		return errcode.New(errcode.Invalid, "%.200q is not a valid secret name in Azure Key Vault; use letters, digits and dashes", path)
	}
	return nil
}

// Read implements config.Backend. A path may name a version: "db/3f2a…".
func (s *Azure) Read(ctx context.Context, path string) (map[string]string, error) {
	if err := checkAzureName(path); err != nil {
		return nil, err
	}
	a, err := s.ask(ctx, http.MethodGet, "/secrets/"+path, nil)
	if err != nil {
		return nil, err
	}
	if !a.ok() {
		return nil, refusal(azureName, path, a)
	}
	var said struct {
		Value string `json:"value"`
	}
	if err := decode(azureName, a, &said); err != nil {
		return nil, err
	}
	return fields(said.Value), nil
}

// Write implements config.Backend. A recently deleted name is recovered first.
func (s *Azure) Write(ctx context.Context, path string, values map[string]string) error {
	if err := checkAzureName(path); err != nil {
		return err
	}
	secret, err := text(values)
	if err != nil {
		return err
	}
	put := map[string]any{"value": secret, "tags": map[string]string{"managed-by": "axle"}}
	for try := range 5 {
		a, err := s.ask(ctx, http.MethodPut, "/secrets/"+path, put)
		if err != nil || a.ok() {
			return err
		}
		if a.status != http.StatusConflict || try == 4 {
			return refusal(azureName, path, a)
		}
		if _, err := s.ask(ctx, http.MethodPost, "/deletedsecrets/"+path+"/recover", nil); err != nil {
			return err
		}
		if err := jitter.Wait(ctx, time.Duration(try)*time.Second); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements config.Backend. The vault keeps deleted secrets as long as
// it is configured to; where the hub may purge, they are gone at once.
func (s *Azure) Delete(ctx context.Context, path string) error {
	if err := checkAzureName(path); err != nil {
		return err
	}
	a, err := s.ask(ctx, http.MethodDelete, "/secrets/"+path, nil)
	if err != nil {
		return err
	}
	if !a.ok() && a.status != http.StatusNotFound {
		return refusal(azureName, path, a)
	}
	// Not every vault allows a purge, and one that does may not be ready for
	// it.
	_, err = s.ask(ctx, http.MethodDelete, "/deletedsecrets/"+path, nil)
	return err
}

// Check implements config.Backend.
func (s *Azure) Check(ctx context.Context) error {
	_, err := s.Read(ctx, "axle-check")
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	return err
}

// Limit implements config.Backend: a value has 25 kB, and JSON escapes need
// some of it.
func (s *Azure) Limit() int { return 8 << 10 }
