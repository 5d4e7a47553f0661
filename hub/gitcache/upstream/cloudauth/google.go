package cloudauth

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// Google holds a service account's key, or none for the hub's own account.
type Google struct {
	ServiceAccountJSON string
	// HubIdentity allows the hub's own account where there is no key.
	HubIdentity bool
	Client      *wire.Client
	Env         Environment

	access cell[token]
}

// scope is the scope of the tokens; the account's roles decide what they may
// do.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Registry returns user and password for a registry.
func (g *Google) Registry(ctx context.Context, host string) (user, password string, err error) {
	t, err := g.token(ctx, &url.URL{Scheme: "https", Host: host})
	return "oauth2accesstoken", t, err
}

// Bucket authenticates requests to Cloud Storage.
func (g *Google) Bucket() wire.Auth { return googleAuth{g} }

type googleAuth struct{ google *Google }

// Apply sets the Authorization header.
func (a googleAuth) Apply(ctx context.Context, r *http.Request) error {
	t, err := a.google.token(ctx, r.URL)
	if err != nil {
		return err
	}
	return wire.Bearer(t).Apply(ctx, r)
}

func (g *Google) token(ctx context.Context, to *url.URL) (string, error) {
	if g.ServiceAccountJSON == "" {
		if err := g.Env.mayLeave(g.HubIdentity, g.Client, to, googleHosts); err != nil {
			return "", err
		}
	}
	t, err := g.access.get(func() (token, time.Time, error) {
		t, err := g.ask(ctx)
		return t, t.until, err
	})
	return t.value, err
}

// granted is an OAuth token response.
type granted struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Seconds int64  `json:"expires_in"`
}

func (g granted) token() (token, error) {
	if g.Access == "" {
		return token{}, errcode.New(errcode.Unavailable, "the token service answers without a token")
	}
	return token{g.Access, time.Now().Add(time.Duration(min(max(g.Seconds, 60), 86_400)) * time.Second)}, nil
}

func (g *Google) ask(ctx context.Context) (token, error) {
	var said granted
	if g.ServiceAccountJSON == "" {
		host := g.Env.get("GCE_METADATA_HOST")
		if host == "" {
			host = "metadata.google.internal"
		}
		if err := local(ctx, "http://"+host+"/computeMetadata/v1/instance/service-accounts/default/token", http.Header{"Metadata-Flavor": {"Google"}}, &said); err != nil {
			return token{}, err
		}
		return said.token()
	}
	where, assertion, err := sign(g.ServiceAccountJSON, time.Now())
	if err != nil {
		return token{}, err
	}
	err = post(ctx, g.Client, where, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}, &said)
	if err != nil {
		return token{}, err
	}
	return said.token()
}

// CheckServiceAccount refuses JSON that is not a service account key.
func CheckServiceAccount(raw string) error {
	_, _, err := sign(raw, time.Now())
	return err
}

// sign creates the assertion that is exchanged for a token.
func sign(raw string, now time.Time) (where, assertion string, err error) {
	var account struct {
		Type  string `json:"type"`
		Email string `json:"client_email"`
		ID    string `json:"private_key_id"`
		Key   string `json:"private_key"`
		Token string `json:"token_uri"`
	}
	bad := func(why string) (string, string, error) {
		return "", "", errcode.New(errcode.Invalid, "the service account's JSON %s", why)
	}
	if json.Unmarshal([]byte(raw), &account) != nil {
		return bad("cannot be read; give the file of a key that the cloud console made")
	}
	if account.Type != "service_account" {
		return bad("has an unsupported type; give a key of type service_account")
	}
	block, _ := pem.Decode([]byte(account.Key))
	if block == nil {
		return bad("holds no private key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return bad("holds a private key that cannot be read")
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return bad("holds a private key that is not RSA")
	}
	if account.Token == "" {
		account.Token = "https://oauth2.googleapis.com/token"
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: account.ID}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return bad("holds a private key that cannot sign")
	}
	assertion, err = jwt.Signed(signer).Claims(map[string]any{"iss": account.Email, "scope": scope, "aud": account.Token,
		"iat": now.Add(-10 * time.Second).Unix(), "exp": now.Add(time.Hour).Unix()}).Serialize()
	if err != nil {
		return bad("holds a private key that cannot sign")
	}
	return account.Token, assertion, nil
}
