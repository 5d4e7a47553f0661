package console_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/go-jose/go-jose/v4"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// ci is an issuer of tokens, as a CI is.
type ci struct {
	*httptest.Server
	keys    []*ecdsa.PrivateKey
	current atomic.Int32
	asked   atomic.Int32
	t       *testing.T
}

func newCI(t *testing.T) *ci {
	c := &ci{t: t}
	for range 3 {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c.keys = append(c.keys, key)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		c.asked.Add(1)
		fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q}`, c.URL, c.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		var set jose.JSONWebKeySet
		for i, k := range c.keys[:c.current.Load()+1] {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: k.Public(), KeyID: fmt.Sprint("key-", i), Algorithm: "ES256", Use: "sig"})
		}
		if err := json.NewEncoder(w).Encode(set); err != nil {
			t.Error(err)
		}
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

// claims are those of a job of acme/web, changed by pairs; nil drops one.
func (c *ci) claims(pairs ...any) map[string]any {
	now := time.Now().Unix()
	all := map[string]any{
		"iss": c.URL, "aud": "https://hub.example.com", "sub": "repo:acme/web:ref:refs/heads/main", "repository": "acme/web",
		"iat": now, "nbf": now, "exp": now + 600, "jti": fmt.Sprint("job-", time.Now().UnixNano()),
		"kubernetes.io": map[string]any{"namespace": "builds"}, "teams": []string{"web", "ops"},
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == nil {
			delete(all, pairs[i].(string))
			continue
		}
		all[pairs[i].(string)] = pairs[i+1]
	}
	return all
}

func (c *ci) sign(claims map[string]any) string {
	c.t.Helper()
	n := c.current.Load()
	return signed(c.t, jose.ES256, jose.JSONWebKey{Key: c.keys[n], KeyID: fmt.Sprint("key-", n)}, claims)
}

func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	out, err := token.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFederatedTokensAreExchanged(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}})
	issuer, other := newCI(t), newCI(t)
	client := &http.Client{Timeout: limit}
	ctx := t.Context()
	accounts := hubv1connect.NewServiceAccountsClient(client, h.URL, signedIn(h.AdminToken))
	if _, err := accounts.Create(ctx, connect.NewRequest(&hubv1.CreateServiceAccountRequest{Name: "ci"})); err != nil {
		t.Fatal(err)
	}
	trusts := hubv1connect.NewFederationClient(client, h.URL, signedIn(h.AdminToken))
	create := func(name string, claims map[string]string) error {
		_, err := trusts.Create(ctx, connect.NewRequest(&hubv1.CreateTrustRequest{
			Name: name, Issuer: issuer.URL, Audience: "https://hub.example.com", Account: "ci", Scopes: []string{"write"}, Claims: claims,
		}))
		return err
	}
	for name, claims := range map[string]map[string]string{
		"none": nil, "anything": {"sub": "*"}, "anything, as a pattern": {"sub": "/.*/"}, "audience alone": {"aud": "x"}, "no pattern": {"sub": "/(/"},
		"out of the group": {"sub": "/a)|(b/"},
	} {
		if err := create("bad", claims); codeOf(err) != errcode.Invalid {
			t.Errorf("a trust with claims %s: %v", name, err)
		}
	}
	if err := create("main", map[string]string{"repository": "acme/*", "sub": "/repo:acme/web:ref:refs/heads/(main|next)/", "kubernetes.io.namespace": "builds", "teams": "web"}); err != nil {
		t.Fatal(err)
	}
	exchange := hubv1connect.NewFederationClient(client, h.URL)
	trade := func(token string) (*hubv1.CreatedToken, error) {
		r, err := exchange.Exchange(ctx, connect.NewRequest(&hubv1.ExchangeRequest{SubjectToken: token}))
		if err != nil {
			return nil, err
		}
		return r.Msg, nil
	}
	good := issuer.sign(issuer.claims())
	made, err := trade(good)
	if err != nil {
		t.Fatal(err)
	}
	who, err := hubv1connect.NewSessionsClient(client, h.URL, signedIn(made.GetSecret())).WhoAmI(ctx, connect.NewRequest(&hubv1.WhoAmIRequest{}))
	if err != nil || who.Msg.GetName() != "ci" || who.Msg.GetKind() != "service_account" {
		t.Fatalf("%v, %v", who, err)
	}
	if left := time.Until(time.UnixMicro(made.GetToken().GetExpiresAt())); left > 11*time.Minute {
		t.Errorf("the token lives %s, longer than the one that it was traded for", left)
	}
	// It makes no others, which would outlive it.
	if _, err := hubv1connect.NewTokensClient(client, h.URL, signedIn(made.GetSecret())).Create(ctx, connect.NewRequest(&hubv1.CreateTokenRequest{Name: "long"})); codeOf(err) != errcode.Forbidden {
		t.Errorf("a traded token made another: %v", err)
	}

	parts := strings.Split(issuer.sign(issuer.claims()), ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	now := time.Now().Unix()
	public, err := issuer.keys[0].PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	forged := map[string]any{"iss": issuer.URL}
	for k, v := range issuer.claims() {
		forged[k] = v
	}
	bad := map[string]string{
		"replayed":             good,
		"alg none":             none,
		"alg none, signed":     none + parts[2],
		"by another issuer":    signed(t, jose.ES256, jose.JSONWebKey{Key: other.keys[0], KeyID: "key-0"}, forged),
		"of an unknown key":    signed(t, jose.ES256, jose.JSONWebKey{Key: other.keys[0], KeyID: "key-9"}, forged),
		"by a shared secret":   signed(t, jose.HS256, jose.JSONWebKey{Key: public, KeyID: "key-0"}, forged),
		"changed":              parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+issuer.URL+`"}`)) + "." + parts[2],
		"wrong audience":       issuer.sign(issuer.claims("aud", "https://elsewhere.example.com")),
		"no audience":          issuer.sign(issuer.claims("aud", nil)),
		"expired":              issuer.sign(issuer.claims("exp", now-3600)),
		"without an end":       issuer.sign(issuer.claims("exp", nil)),
		"not yet":              issuer.sign(issuer.claims("nbf", now+3600)),
		"issued in the future": issuer.sign(issuer.claims("iat", now+3600)),
		"another repository":   issuer.sign(issuer.claims("repository", "acme-evil/web")),
		"a longer branch":      issuer.sign(issuer.claims("sub", "repo:acme/web:ref:refs/heads/main2")),
		"a line before":        issuer.sign(issuer.claims("sub", "x\nrepo:acme/web:ref:refs/heads/main")),
		"another namespace":    issuer.sign(issuer.claims("kubernetes.io", map[string]any{"namespace": "x"})),
		"not in the list":      issuer.sign(issuer.claims("teams", []string{"ops"})),
		"a claim less":         issuer.sign(issuer.claims("repository", nil)),
		"of nobody":            other.sign(other.claims()),
		"no token":             "no.token.here",
		"nothing":              "",
		"one of the hub":       h.AdminToken,
		"a long one":           strings.Repeat("a", 32<<10),
	}
	for name, token := range bad {
		t.Run(name, func(t *testing.T) {
			if _, err := trade(token); codeOf(err) != errcode.Unauthorized {
				t.Errorf("got %v", err)
			}
		})
	}
	// Tokens with unknown keys do not make the hub fetch again and again.
	for i := range 20 {
		unknown := signed(t, jose.ES256, jose.JSONWebKey{Key: other.keys[0], KeyID: fmt.Sprint("made-up-", i)}, forged)
		if _, err := trade(unknown); codeOf(err) != errcode.Unauthorized {
			t.Errorf("of a made-up key: %v", err)
		}
	}
	if n := issuer.asked.Load(); n > 10 {
		t.Errorf("the issuer was asked for its keys %d times", n)
	}
	// Clocks may differ by 5 min.
	if _, err := trade(issuer.sign(issuer.claims("exp", now-120))); err != nil {
		t.Errorf("expired two minutes ago: %v", err)
	}
	// A deleted account ends what was traded, and the trust.
	if _, err := accounts.Delete(ctx, connect.NewRequest(&hubv1.DeleteServiceAccountRequest{Name: "ci"})); err != nil {
		t.Fatal(err)
	}
	if _, err := hubv1connect.NewSessionsClient(client, h.URL, signedIn(made.GetSecret())).WhoAmI(ctx, connect.NewRequest(&hubv1.WhoAmIRequest{})); codeOf(err) != errcode.Unauthorized {
		t.Errorf("the token of a deleted account: %v", err)
	}
	if _, err := trade(issuer.sign(issuer.claims())); codeOf(err) != errcode.Unauthorized {
		t.Errorf("a trust without its account: %v", err)
	}
}

// A token that one replica revoked stops working at the other within 5 s, in
// calls; the test waits for the condition, not for the clock.
func TestRevokedTokenStopsWithin5s(t *testing.T) {
	config := hubtest.HubConfig{DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")}
	one := hubtest.New(t, hubtest.Config{Hub: config})
	two := hubtest.New(t, hubtest.Config{Hub: config, AdminToken: one.AdminToken})
	client := &http.Client{Timeout: limit}
	for _, kind := range []string{"api", "service account"} {
		t.Run(kind, func(t *testing.T) {
			tokens := hubv1connect.NewTokensClient(client, one.URL, signedIn(one.AdminToken))
			accounts := hubv1connect.NewServiceAccountsClient(client, one.URL, signedIn(one.AdminToken))
			var made *connect.Response[hubv1.CreatedToken]
			var err error
			if kind == "api" {
				made, err = tokens.Create(t.Context(), connect.NewRequest(&hubv1.CreateTokenRequest{Name: "short"}))
			} else {
				if _, err := accounts.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountRequest{Name: "bot", Admin: true})); err != nil {
					t.Fatal(err)
				}
				made, err = accounts.CreateToken(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountTokenRequest{Account: "bot", Name: "short"}))
			}
			if err != nil {
				t.Fatal(err)
			}
			works := func(h *hubtest.Hub) error {
				_, err := hubv1connect.NewSessionsClient(client, h.URL, signedIn(made.Msg.GetSecret())).WhoAmI(t.Context(), connect.NewRequest(&hubv1.WhoAmIRequest{}))
				return err
			}
			for _, h := range []*hubtest.Hub{one, two} {
				// A replica that cannot query its database in time says so.
				eventually.For(t, limit, "a new token works", func() error {
					err := works(h)
					if err != nil && codeOf(err) != errcode.Unavailable {
						t.Fatalf("a new token: %v", err)
					}
					return err
				})
			}
			if kind == "api" {
				_, err = tokens.Revoke(t.Context(), connect.NewRequest(&hubv1.RevokeTokenRequest{Id: made.Msg.GetToken().GetId()}))
			} else {
				_, err = accounts.Delete(t.Context(), connect.NewRequest(&hubv1.DeleteServiceAccountRequest{Name: "bot"}))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := works(one); codeOf(err) != errcode.Unauthorized {
				t.Errorf("at the replica that revoked it: %v", err)
			}
			// The other replica learns of it from the change feed, at the
			// latest with its next poll, 3 s later; a loaded machine gets more
			// time.
			eventually.For(t, limit, "the token ends at the other replica", func() error {
				if err := works(two); codeOf(err) != errcode.Unauthorized {
					return fmt.Errorf("it still works: %w", err)
				}
				return nil
			})
		})
	}
}
