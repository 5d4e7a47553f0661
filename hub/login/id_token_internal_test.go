package login

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/clock"
)

// answers gives one answer to every request.
type answers []byte

// RoundTrip is http.RoundTripper.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(a)), Request: r}, nil
}

// FuzzIDToken signs arbitrary claims like the provider, and compares the result
// with the claims as the standard reads them.
func FuzzIDToken(f *testing.F) {
	const issuer, client, nonce, now = "https://idp.example.com", "axle", "n-1", int64(1e9)
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":"axle","sub":"s","nonce":"n-1","iat":1000000000,"exp":1000000600,"email":"a@example.com","email_verified":true,"a":{"b":["x","y"]}}`))
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":["axle","other"],"azp":"axle","sub":"s","nonce":"n-1","iat":1000000000,"exp":1000000600,"email":"a@example.com"}`))
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":"axle","sub":"s","nonce":"n-1","iat":1e9,"exp":9e99,"nbf":"x","email":"a@example.com"}`))
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":"axle","sub":"s","nonce":"n-1","iat":1000000000,"exp":1000000600,"nonce":"n-2","email":1}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`[]`))
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &private.PublicKey, KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		f.Fatal(err)
	}
	ctx := oidc.ClientContext(f.Context(), &http.Client{Transport: answers(keys)})
	found := &discovery{Provider: (&oidc.ProviderConfig{IssuerURL: issuer, AuthURL: issuer + "/a", TokenURL: issuer + "/t", JWKSURL: issuer + "/k", Algorithms: []string{"ES256"}}).NewProvider(ctx)}
	p := &provider{Provider: account.Provider{Title: "Example", Issuer: issuer, ClientID: client, GroupsClaim: "a.b"}, clock: clock.NewManual(time.Unix(now, 0))}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: "k"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		signed, err := signer.Sign(payload)
		if err != nil {
			return
		}
		raw, err := signed.CompactSerialize()
		if err != nil {
			return
		}
		claims, err := p.verify(ctx, found, raw, nonce, &oauth2.Token{AccessToken: "at"})
		if err != nil {
			return
		}
		var said struct {
			Issuer string          `json:"iss"`
			Aud    json.RawMessage `json:"aud"`
			Azp    string          `json:"azp"`
			Sub    string          `json:"sub"`
			Nonce  string          `json:"nonce"`
			Iat    float64         `json:"iat"`
			Exp    float64         `json:"exp"`
		}
		if err := json.Unmarshal(payload, &said); err != nil {
			t.Fatalf("%s was accepted and cannot be read: %v", payload, err)
		}
		var many []string
		if json.Unmarshal(said.Aud, &many) != nil {
			many = []string{""}
			_ = json.Unmarshal(said.Aud, &many[0])
		}
		five := float64(5 * 60)
		if said.Issuer != issuer || said.Nonce != nonce || !slices.Contains(many, client) || said.Exp+five < float64(now) || said.Iat-five > float64(now) || said.Iat+15*60 < float64(now) {
			t.Errorf("%s was accepted", payload)
		}
		if (len(many) > 1 || said.Azp != "") && said.Azp != client {
			t.Errorf("%s of another client was accepted", payload)
		}
		if claims.Subject != said.Sub || len(claims.Groups) > len(payload) {
			t.Errorf("%s is about %q with %d groups", payload, claims.Subject, len(claims.Groups))
		}
	})
}

// FuzzLogoutToken is FuzzIDToken for logout tokens.
func FuzzLogoutToken(f *testing.F) {
	const issuer, client, now = "https://idp.example.com", "axle", int64(1e9)
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":"axle","sub":"s","sid":"1","jti":"j","iat":1000000000,"exp":1000000600,"events":{"http://schemas.openid.net/event/backchannel-logout":{}}}`))
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":["axle"],"sid":"1","jti":"j","iat":1000000000,"events":{"http://schemas.openid.net/event/backchannel-logout":{"a":1}}}`))
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":"axle","sub":"s","jti":"j","iat":1000000000,"nonce":null,"events":{"http://schemas.openid.net/event/backchannel-logout":{}}}`))
	f.Add([]byte(`{"iss":"https://idp.example.com","aud":"axle","sub":"s","jti":"j","iat":1e9,"nbf":9e99,"Nonce":"x","events":{"http://schemas.openid.net/event/backchannel-logout":[]}}`))
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &private.PublicKey, KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		f.Fatal(err)
	}
	web := &http.Client{Transport: answers(keys)}
	ctx := oidc.ClientContext(f.Context(), web)
	found := &discovery{Provider: (&oidc.ProviderConfig{IssuerURL: issuer, AuthURL: issuer + "/a", TokenURL: issuer + "/t", JWKSURL: issuer + "/k", Algorithms: []string{"ES256"}}).NewProvider(ctx)}
	p := &provider{Provider: account.Provider{Title: "Example", Issuer: issuer, ClientID: client}, client: web, clock: clock.NewManual(time.Unix(now, 0))}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: private, KeyID: "k"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		signed, err := signer.Sign(payload)
		if err != nil {
			return
		}
		raw, err := signed.CompactSerialize()
		if err != nil {
			return
		}
		l, err := p.verifyLogout(ctx, found, raw)
		if err != nil {
			return
		}
		var said struct {
			Issuer string                     `json:"iss"`
			Sub    string                     `json:"sub"`
			Sid    string                     `json:"sid"`
			Jti    string                     `json:"jti"`
			Iat    float64                    `json:"iat"`
			Events map[string]json.RawMessage `json:"events"`
			All    map[string]any             `json:"-"`
		}
		if err := errors.Join(json.Unmarshal(payload, &said), json.Unmarshal(payload, &said.All)); err != nil {
			t.Fatalf("%s was accepted and cannot be read: %v", payload, err)
		}
		var about map[string]any
		if json.Unmarshal(said.Events[logoutEvent], &about) != nil || about == nil {
			t.Errorf("%s is about no logout", payload)
		}
		if _, nonce := said.All["nonce"]; nonce || said.Issuer != issuer || said.Jti == "" || l.TokenID != said.Jti || said.Sub == "" && said.Sid == "" {
			t.Errorf("%s was accepted", payload)
		}
		if l.Subject != said.Sub || l.Session != said.Sid || said.Iat-5*60 > float64(now) || said.Iat+15*60 < float64(now) {
			t.Errorf("%s was accepted as %+v", payload, l)
		}
		if until := l.Until.Unix(); until < int64(said.Iat)+15*60 {
			t.Errorf("%s is forgotten before it is too old", payload)
		}
	})
}
