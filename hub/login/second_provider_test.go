package login_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/axle-cd/axle/hub/identity/account"
)

// Another implementation of the protocol, by other people: what only one
// provider does, or two do differently, shows here.
func TestLoginThroughASecondImplementation(t *testing.T) {
	b, _ := newBed(t)
	if _, err := b.identity().CreateGroup(t.Context(), owner, "platform", ""); err != nil {
		t.Fatal(err)
	}
	p, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	terms := account.Provider{Name: "second", Issuer: p.Issuer(), ClientID: p.ClientID}
	withGroups(&terms)
	if _, err := b.identity().CreateProvider(t.Context(), byRoot, terms, p.ClientSecret); err != nil {
		t.Fatal(err)
	}
	p.QueueUser(&mockoidc.MockUser{Subject: "dora", Email: "dora@example.com", EmailVerified: true, Groups: []string{"eng-platform", "everybody"}})
	v := b.visitor("198.51.100.40")
	v.get("/login/oidc/second?next=%2Flogin%2Faccount")
	v.wants(http.StatusOK, "dora@example.com")
	v.wants(http.StatusOK, "platform")
	if strings.Contains(v.page, "everybody") {
		t.Errorf("a raw claim became a group: %s", v.page)
	}
	p.QueueUser(&mockoidc.MockUser{Subject: "erin", Email: "erin@example.com", Groups: []string{"eng-platform"}})
	w := b.visitor("198.51.100.41")
	w.get("/login/oidc/second")
	w.wants(http.StatusForbidden, "has not verified")
	p.QueueError(&mockoidc.ServerError{Code: http.StatusInternalServerError, Error: "internal_error", Description: "<b>secret words</b>"})
	w.get("/login/oidc/second")
	if w.sessionCookie() != "" || strings.Contains(w.page, "secret words") && strings.Contains(w.page, "Axle") {
		t.Errorf("%d %s", w.status, w.page)
	}
}
