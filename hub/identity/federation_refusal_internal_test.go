package identity

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// A text is no token of an issuer when it is not signed by anything, whoever
// would look at its signature later.
func TestAssertionsThatAreNone(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	token := func(header, payload, signature string) string {
		return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + signature
	}
	const issuer = `{"iss":"https://ci.example.com"}`
	if a, err := parseAssertion(token(`{"alg":"ES256"}`, issuer, "c2ln")); err != nil || a.issuer != "https://ci.example.com" {
		t.Errorf("one as it should be: %+v, %v", a, err)
	}
	for name, text := range map[string]string{
		"alg none":       token(`{"alg":"none"}`, issuer, "c2ln"),
		"alg None":       token(`{"alg":"NoNe"}`, issuer, "c2ln"),
		"no alg":         token(`{}`, issuer, "c2ln"),
		"no signature":   token(`{"alg":"ES256"}`, issuer, ""),
		"no issuer":      token(`{"alg":"ES256"}`, `{}`, "c2ln"),
		"four parts":     token(`{"alg":"ES256"}`, issuer, "c2ln") + ".x",
		"too long":       token(`{"alg":"ES256"}`, issuer, encode(make([]byte, maxAssertion))),
		"no JSON":        token(`{`, issuer, "c2ln"),
		"issuer as list": token(`{"alg":"ES256"}`, `{"iss":["https://ci.example.com"]}`, "c2ln"),
	} {
		if a, err := parseAssertion(text); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

// What a trust may be is decided before anything is kept.
func TestTrustsThatCannotBe(t *testing.T) {
	good := Trust{Name: "main", Issuer: "https://ci.example.com", Audience: "https://hub.example.com", Account: "ci", Claims: map[string]string{"sub": "repo:acme/web"}}
	d := &Directory{}
	if err := d.checkTrust(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Trust){
		"a name with a space":    func(t *Trust) { t.Name = "a b" },
		"an issuer by http":      func(t *Trust) { t.Issuer = "http://ci.example.com" },
		"an issuer with a user":  func(t *Trust) { t.Issuer = "https://a:b@ci.example.com" },
		"an issuer with a query": func(t *Trust) { t.Issuer = "https://ci.example.com?x=y" },
		"no audience":            func(t *Trust) { t.Audience = "" },
		"two hours":              func(t *Trust) { t.Lifetime = (2 * time.Hour).Microseconds() },
		"a negative lifetime":    func(t *Trust) { t.Lifetime = -1 },
		"no claims":              func(t *Trust) { t.Claims = nil },
		"anybody":                func(t *Trust) { t.Claims = map[string]string{"sub": "*"} },
	} {
		bad := good
		change(&bad)
		if err := d.checkTrust(bad); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&Directory{plainIssuers: true}).checkTrust(Trust{Name: "a", Issuer: "http://ci", Audience: "a", Claims: good.Claims}); err != nil {
		t.Errorf("an issuer by http where that is allowed: %v", err)
	}
	// Nobody gives others what he has not got himself.
	for scope, code := range map[string]errcode.Code{ScopeAdmin: errcode.Forbidden, "root": errcode.Invalid} {
		bad := good
		bad.Scopes = []string{scope}
		if _, err := d.CreateTrust(t.Context(), Principal{Kind: KindUser, Name: "ann", Scopes: []string{ScopeRead}}, bad); !errcode.Is(err, code) {
			t.Errorf("scope %s: %v", scope, err)
		}
	}
}
