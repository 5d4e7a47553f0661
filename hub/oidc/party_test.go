package oidc_test

import (
	"encoding/json"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

// verified are the claims of a token of the client app, as go-oidc verifies it with the
// published keys.
func (b *bed) verified(token string) map[string]any {
	b.T.Helper()
	provider, err := oidc.NewProvider(b.T.Context(), b.url+"/oidc")
	if err != nil {
		b.T.Fatal(err)
	}
	known, err := provider.Verifier(&oidc.Config{ClientID: app, Now: b.Fleet.Clock.Now}).Verify(b.T.Context(), token)
	if err != nil {
		b.T.Fatalf("%v: %s", err, token)
	}
	var claims map[string]any
	if err := known.Claims(&claims); err != nil {
		b.T.Fatal(err)
	}
	return claims
}

// scoped are the tokens of a new login with scopes.
func (b *bed) scoped(t *testing.T, v *visitor, scope string) answer {
	t.Helper()
	a := b.trade(v.authorize(map[string]string{"scope": scope}).Get("code"))
	if a.status != 200 {
		text, _ := json.Marshal(a.body)
		t.Fatalf("%d %s", a.status, text)
	}
	return a
}
