package login_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/test/oidcserver"
)

// TestGroupsAreNotLeftOut: groups after number 2,000 were, and the names of an object, as some
// providers send roles. Where a provider leaves them out itself, memberships stay.
func TestGroupsAreNotLeftOut(t *testing.T) {
	b, _ := newBed(t)
	if _, err := b.identity().CreateGroup(t.Context(), owner, "platform", ""); err != nil {
		t.Fatal(err)
	}
	p := b.provider("idp", withGroups, bob)
	session := b.visitor("198.51.100.79")
	session.through("idp", p, bob)
	none := func(claims map[string]any) { delete(claims, "groups") }
	p.Inform(none)
	many := make([]any, 0, 5000)
	for i := range 4999 {
		many = append(many, fmt.Sprint("g-", i))
	}
	many = append(many, "eng-platform")
	for n, tc := range []struct {
		name   string
		claims func(claims map[string]any)
		member bool
		says   string
	}{
		{"number 5,000 of a list", func(c map[string]any) { c["groups"] = many }, true, ""},
		{"none", none, false, ""},
		{"an object of roles", func(c map[string]any) {
			c["groups"] = map[string]any{"eng-platform": map[string]any{"1": "example.com"}}
		}, true, ""},
		{"too many for Entra ID", func(c map[string]any) {
			none(c)
			c["_claim_names"], c["_claim_sources"] = map[string]any{"groups": "src1"}, map[string]any{"src1": map[string]any{"endpoint": "https://graph.invalid"}}
		}, true, "too many for a token"},
		{"too many for an implicit login", func(c map[string]any) { none(c); c["hasgroups"] = true }, true, "too many for a token"},
		{"numbers", func(c map[string]any) { c["groups"] = 7 }, false, ""},
	} {
		p.Tamper(func(k *oidcserver.Token) { tc.claims(k.Claims) })
		v := b.visitor(fmt.Sprintf("198.51.100.%d", 80+n))
		v.through("idp", p, bob)
		switch {
		case tc.says != "" && (v.status != http.StatusUnauthorized || !strings.Contains(v.page, tc.says) || v.sessionCookie() != ""):
			t.Errorf("%s: %d, want %q in %s", tc.name, v.status, tc.says, v.page)
		case tc.says == "" && v.who() != bob.Email:
			t.Errorf("%s: the login is refused: %d %s", tc.name, v.status, v.page)
		}
		session.get("/login/account")
		session.wants(http.StatusOK, bob.Email)
		if got := strings.Contains(session.page, "platform"); got != tc.member {
			t.Errorf("%s: a member: %v, want %v", tc.name, got, tc.member)
		}
	}
}

// lines are the texts of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// TestTheLogHasTheCause of a login that gives less than it could, or nothing.
func TestTheLogHasTheCause(t *testing.T) {
	log := &lines{}
	b := loggedBed(t, slog.New(slog.NewTextHandler(log, nil)))
	if _, err := b.identity().CreateGroup(t.Context(), owner, "platform", ""); err != nil {
		t.Fatal(err)
	}
	p := b.provider("idp", withGroups, bob)
	p.Inform(func(claims map[string]any) { delete(claims, "groups") })
	for n, tc := range []struct {
		change func(*oidcserver.Token)
		says   string
	}{
		{func(k *oidcserver.Token) { k.Claims["groups"] = 7 }, "the claim is a number"},
		{func(k *oidcserver.Token) { k.Claims["groups"] = []any{"a", map[string]any{}} }, "an element of the claim is an object"},
		{func(k *oidcserver.Token) { k.HMAC = []byte(strings.Repeat("k", 32)) }, "signed with HS256"},
		{func(k *oidcserver.Token) {
			delete(k.Claims, "groups")
			k.Claims["_claim_names"], k.Claims["_claim_sources"] = map[string]any{"groups": "src1"}, map[string]any{"src1": map[string]any{"endpoint": "https://graph.invalid"}}
		}, "too many for a token"},
	} {
		p.Tamper(tc.change)
		v := b.visitor(fmt.Sprintf("198.51.100.%d", 60+n))
		v.through("idp", p, bob)
		log.mu.Lock()
		if !strings.Contains(log.text.String(), tc.says) {
			t.Errorf("the log does not say %q: %s", tc.says, log.text.String())
		}
		log.mu.Unlock()
	}
}
