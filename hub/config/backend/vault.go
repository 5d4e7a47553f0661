package backend

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// VaultConfig configures a KV version 2 mount of OpenBao or Vault. One of
// TokenFile, Role and RoleID says how to log in.
type VaultConfig struct {
	Address   string `json:"address"`
	Mount     string `json:"mount,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	CAFile    string `json:"caFile,omitempty"`
	// TokenFile holds a token; the file is read again when the token is
	// refused.
	TokenFile string `json:"tokenFile,omitempty"`
	// Role is a role of Kubernetes auth, with the service account's token in
	// JWTFile.
	Role    string `json:"role,omitempty"`
	JWTFile string `json:"jwtFile,omitempty"`
	// RoleID and SecretIDFile are for AppRole.
	RoleID       string `json:"roleID,omitempty"`
	SecretIDFile string `json:"secretIDFile,omitempty"`
	// AuthMount is the mount of the auth method.
	AuthMount string `json:"authMount,omitempty"`
}

// Vault is a KV version 2 mount.
type Vault struct {
	VaultConfig
	client *http.Client

	mu    sync.Mutex
	token string
	until time.Time
}

const serviceAccountToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// NewVault checks the configuration. It opens no connection.
func NewVault(c VaultConfig) (*Vault, error) {
	if err := checkEndpoint("address", c.Address); err != nil {
		return nil, err
	}
	ways := 0
	for _, way := range []string{c.TokenFile, c.Role, c.RoleID} {
		if way != "" {
			ways++
		}
	}
	if ways != 1 || (c.RoleID == "") != (c.SecretIDFile == "") {
		return nil, errcode.New(errcode.Invalid, "give one of tokenFile, role (Kubernetes auth), or roleID with secretIDFile (AppRole)")
	}
	c.Address = strings.TrimSuffix(c.Address, "/")
	for _, d := range []struct {
		field *string
		value string
	}{{&c.Mount, "secret"}, {&c.JWTFile, serviceAccountToken}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if c.AuthMount == "" {
		c.AuthMount = "kubernetes"
		if c.RoleID != "" {
			c.AuthMount = "approle"
		}
	}
	client, err := newHTTP(c.CAFile)
	return &Vault{VaultConfig: c, client: client}, err
}

func (v *Vault) header(token string) http.Header {
	h := http.Header{"X-Vault-Request": {"true"}}
	if token != "" {
		h.Set("X-Vault-Token", token)
	}
	if v.Namespace != "" {
		h.Set("X-Vault-Namespace", v.Namespace)
	}
	return h
}

// login returns a token, and a new one when the last expires soon or was
// refused.
func (v *Vault) login(ctx context.Context, refused string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.token != "" && v.token != refused && time.Now().Before(v.until) {
		return v.token, nil
	}
	if v.TokenFile != "" {
		token, err := secretFile("tokenFile", v.TokenFile)
		v.token, v.until = token, time.Now().Add(time.Minute)
		return token, err
	}
	body, err := v.proof()
	if err != nil {
		return "", err
	}
	what := "the login of " + v.Address + " (" + v.AuthMount + ")"
	a, err := do(ctx, v.client, call{what: what, method: http.MethodPost, url: v.Address + "/v1/auth/" + escaped(v.AuthMount) + "/login", body: body, header: v.header("")})
	if err != nil {
		return "", err
	}
	if !a.ok() {
		return "", refusal(what, v.AuthMount, a)
	}
	var said struct {
		Auth struct {
			Token   string `json:"client_token"`
			Seconds int64  `json:"lease_duration"`
		} `json:"auth"`
	}
	if err := decode(what, a, &said); err != nil {
		return "", err
	}
	if said.Auth.Token == "" {
		return "", errcode.New(errcode.Unavailable, "%s returned no token", what)
	}
	life := time.Duration(said.Auth.Seconds) * time.Second
	if life <= 0 {
		life = time.Hour
	}
	v.token, v.until = said.Auth.Token, time.Now().Add(life/2)
	return v.token, nil
}

// proof returns the body of the login request.
func (v *Vault) proof() (map[string]string, error) {
	if v.RoleID != "" {
		secret, err := secretFile("secretIDFile", v.SecretIDFile)
		return map[string]string{"role_id": v.RoleID, "secret_id": secret}, err
	}
	jwt, err := secretFile("jwtFile", v.JWTFile)
	return map[string]string{"role": v.Role, "jwt": jwt}, err
}

// ask makes a call with a token, and repeats it with a new one when it is
// refused: the token may have been revoked.
func (v *Vault) ask(ctx context.Context, method, path string, body any) (answer, error) {
	refused := ""
	for {
		token, err := v.login(ctx, refused)
		if err != nil {
			return answer{}, err
		}
		a, err := do(ctx, v.client, call{what: v.Address, method: method, url: v.Address + "/v1/" + path, body: body, header: v.header(token)})
		if err != nil || a.status != http.StatusForbidden || refused != "" {
			return a, err
		}
		refused = token
	}
}

// Read implements config.Backend.
func (v *Vault) Read(ctx context.Context, path string) (map[string]string, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	a, err := v.ask(ctx, http.MethodGet, escaped(v.Mount)+"/data/"+escaped(path), nil)
	if err != nil {
		return nil, err
	}
	var said struct {
		Data struct {
			Data map[string]any `json:"data"`
		} `json:"data"`
	}
	if !a.ok() {
		return nil, refusal(v.Address, path, a)
	}
	if err := decode(v.Address, a, &said); err != nil {
		return nil, err
	}
	if said.Data.Data == nil {
		return nil, errcode.New(errcode.NotFound, "%s has nothing at %q", v.Address, path)
	}
	return texts(said.Data.Data)
}

// texts converts other values than texts to JSON.
func texts(object map[string]any) (map[string]string, error) {
	out := make(map[string]string, len(object))
	for key, value := range object {
		if plain, ok := value.(string); ok {
			out[key] = plain
			continue
		}
		encoded, err := jsonText(value)
		if err != nil {
			return nil, err
		}
		out[key] = encoded
	}
	return out, nil
}

// Write implements config.Backend.
func (v *Vault) Write(ctx context.Context, path string, values map[string]string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	a, err := v.ask(ctx, http.MethodPost, escaped(v.Mount)+"/data/"+escaped(path), map[string]any{"data": values})
	if err == nil && !a.ok() {
		err = refusal(v.Address, path, a)
	}
	return err
}

// Delete implements config.Backend. It deletes every version and the metadata.
func (v *Vault) Delete(ctx context.Context, path string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	a, err := v.ask(ctx, http.MethodDelete, escaped(v.Mount)+"/metadata/"+escaped(path), nil)
	if err == nil && !a.ok() && a.status != http.StatusNotFound {
		err = refusal(v.Address, path, a)
	}
	return err
}

// Check implements config.Backend.
func (v *Vault) Check(ctx context.Context) error {
	a, err := v.ask(ctx, http.MethodGet, "auth/token/lookup-self", nil)
	if err == nil && !a.ok() {
		err = refusal(v.Address, "auth/token/lookup-self", a)
	}
	return err
}

// Limit implements config.Backend. The default storage accepts 1 MiB, escaped.
func (v *Vault) Limit() int { return 256 << 10 }
