package federation_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/internal/errcode"
)

// A discovery that speaks for another issuer, or keys from where they must not
// come, vouch for nothing.
func TestIssuersThatVouchForNothing(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		issuer    string // in place of the server's own
		keys      string // the announced keys URL, instead of the server's own
		use       string
		allowHTTP bool
		want      errcode.Code
	}{
		"as it should be":  {allowHTTP: true},
		"another issuer":   {issuer: "https://elsewhere.example.com", allowHTTP: true, want: errcode.Unavailable},
		"a slash more":     {issuer: "/", allowHTTP: true, want: errcode.Unavailable},
		"by http":          {want: errcode.Unavailable},
		"keys in a file":   {keys: "file:///etc/passwd", allowHTTP: true, want: errcode.Unavailable},
		"keys with a user": {keys: "http://a:b@127.0.0.1/", allowHTTP: true, want: errcode.Unavailable},
		"keys to encrypt":  {use: "enc", allowHTTP: true, want: errcode.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			issuer, keys := server.URL, server.URL+"/keys"
			switch {
			case test.issuer == "/":
				issuer += "/"
			case test.issuer != "":
				issuer = test.issuer
			}
			if test.keys != "" {
				keys = test.keys
			}
			answer := func(v any) http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) {
					if err := json.NewEncoder(w).Encode(v); err != nil {
						t.Error(err)
					}
				}
			}
			mux.Handle("/.well-known/openid-configuration", answer(map[string]string{"issuer": issuer, "jwks_uri": keys}))
			mux.Handle("/keys", answer(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &private.PublicKey, KeyID: "k", Use: test.use}}}))
			issuers, err := federation.New(federation.Config{AllowHTTP: test.allowHTTP, Client: func(string) (*http.Client, error) { return server.Client(), nil }})
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now().Unix()
			text, err := json.Marshal(map[string]any{"iss": server.URL, "aud": "hub", "sub": "s", "iat": now, "exp": now + 600})
			if err != nil {
				t.Fatal(err)
			}
			signed, err := signer.Sign(text)
			if err != nil {
				t.Fatal(err)
			}
			token, err := signed.CompactSerialize()
			if err != nil {
				t.Fatal(err)
			}
			claims, _, err := issuers.Verify(t.Context(), server.URL, "", "hub", token)
			if errcode.Of(err) != test.want || (err == nil) != (claims["sub"] == "s") {
				t.Errorf("%v, %v; want %q", claims, err, test.want)
			}
		})
	}
}
