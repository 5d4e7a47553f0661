package federation

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// What a trust may be is decided before anything is kept.
func TestTrustsThatCannotBe(t *testing.T) {
	good := Trust{Name: "main", Issuer: "https://ci.example.com", Audience: "https://hub.example.com", Account: "ci", Claims: map[string]string{"sub": "repo:acme/web"}}
	d := &Trusts{issuers: &Issuers{}}
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
	if err := (&Trusts{issuers: &Issuers{config: Config{AllowHTTP: true}}}).checkTrust(Trust{Name: "a", Issuer: "http://ci", Audience: "a", Claims: good.Claims}); err != nil {
		t.Errorf("an issuer by http where that is allowed: %v", err)
	}
	// Nobody can give others scopes that they do not have themselves.
	for scope, code := range map[string]errcode.Code{identity.ScopeAdmin: errcode.Forbidden, "root": errcode.Invalid} {
		bad := good
		bad.Scopes = []string{scope}
		if _, err := d.CreateTrust(t.Context(), identity.Principal{Kind: identity.KindUser, Name: "ann", Scopes: []string{identity.ScopeRead}}, bad); !errcode.Is(err, code) {
			t.Errorf("scope %s: %v", scope, err)
		}
	}
}
