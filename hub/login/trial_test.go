package login_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/oidcserver"
)

// trialBed is a bed with a provider that the hub does not know, the group platform, and
// the terms under which it is tried.
func trialBed(t *testing.T) (b *bed, v *visitor, p *oidcserver.Server, terms account.Provider) {
	t.Helper()
	b, v = newBed(t)
	if _, err := b.identity().CreateGroup(t.Context(), owner, "platform", ""); err != nil {
		t.Fatal(err)
	}
	p = oidcserver.New(t, bob, carol)
	p.SetClient(oidcserver.Client{ID: "axle", Secret: "hush", Redirects: []string{b.URL + "/login/callback/idp"}})
	terms = account.Provider{Name: "idp", Issuer: p.URL, ClientID: "axle"}
	withGroups(&terms)
	return b, v, p, terms
}

// person is a user as a caller.
func (b *bed) person(name string) identity.Principal {
	b.t.Helper()
	u, err := b.user(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return identity.Principal{Kind: identity.KindUser, ID: u.ID, Name: u.Name, Admin: true, Scopes: []string{"admin"}}
}

// trial begins one as the owner and returns the path where it begins.
func (b *bed) trial(terms account.Provider, secret string) string {
	b.t.Helper()
	id, _, err := b.identity().StartTrial(b.t.Context(), b.person(owner), terms, &secret)
	if err != nil {
		b.t.Fatal(err)
	}
	return "/login/try/" + id
}

func TestATrialShowsTheClaimsAndLogsNobodyIn(t *testing.T) {
	b, v, p, terms := trialBed(t)
	at := b.trial(terms, "hush")
	v.throughFrom(at, p, bob)
	v.wants(http.StatusOK, "It works. A login with this account would create the user "+bob.Email)
	for _, want := range []string{"<dd>platform</dd>", "everybody", bob.Subject, "email_verified"} {
		if !strings.Contains(v.page, want) {
			t.Errorf("the page lacks %q: %s", want, v.page)
		}
	}
	if !regexp.MustCompile(`<dt>auth_time</dt><dd>20\d\d-[0-9: -]+ UTC</dd>`).MatchString(v.page) {
		t.Errorf("a time is not shown as one: %s", v.page)
	}
	for _, secret := range []string{"hush", "nonce", "at_hash"} {
		if strings.Contains(v.page, secret) {
			t.Errorf("the page has %q: %s", secret, v.page)
		}
	}
	if who := v.who(); who != owner {
		t.Errorf("%q is logged in", who)
	}
	if _, err := b.user(bob.Email); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("the trial made a user: %v", err)
	}
	if all, err := b.identity().Providers(t.Context()); len(all) != 0 || err != nil {
		t.Errorf("the trial saved a provider: %v, %v", all, err)
	}
	w := b.visitor("198.51.100.7")
	w.get("/login/oidc/idp")
	w.wants(http.StatusNotFound, "login provider idp does not exist")

	// The same again, once the person has been here: the user who is there.
	if _, err := b.identity().CreateProvider(t.Context(), byRoot, terms, "hush"); err != nil {
		t.Fatal(err)
	}
	w.through("idp", p, bob)
	v.throughFrom(b.trial(terms, "hush"), p, bob)
	v.wants(http.StatusOK, "would be the user "+bob.Email+".")
}

func TestATrialSaysWhyALoginWouldBeRefused(t *testing.T) {
	b, v, p, terms := trialBed(t)
	elsewhere, unmapped := terms, terms
	elsewhere.EmailDomains = []string{"elsewhere.test"}
	unmapped.GroupsClaim = "realm_access.roles"
	for name, tc := range map[string]struct {
		terms account.Provider
		says  string
	}{
		"domain":      {elsewhere, "addresses of example.com may not log in through idp"},
		"other claim": {unmapped, "the answer has no claim <code>realm_access.roles</code>"},
	} {
		v.throughFrom(b.trial(tc.terms, "hush"), p, bob)
		if !strings.Contains(v.page, tc.says) {
			t.Errorf("%s: %d %s", name, v.status, v.page)
		}
		if !strings.Contains(v.page, bob.Subject) {
			t.Errorf("%s: the claims are not shown: %s", name, v.page)
		}
	}
	v.throughFrom(b.trial(terms, "wrong"), p, bob)
	v.wants(http.StatusUnauthorized, "an administrator should look at the client id and secret")
	local := bob
	local.Email = owner
	p.SetUsers(local)
	v.throughFrom(b.trial(terms, "hush"), p, local)
	v.wants(http.StatusForbidden, "is a local account of this hub")
}

// A trial is its person's alone, ends after 10 minutes, and the one after it takes its place.
func TestATrialIsItsPersonsAlone(t *testing.T) {
	b, v, p, terms := trialBed(t)
	at := b.trial(terms, "hush")
	stranger := b.visitor("198.51.100.8")
	stranger.get(at)
	if !strings.HasPrefix(stranger.url.Path, "/login") || strings.Contains(stranger.url.String(), p.URL) {
		t.Errorf("a stranger is sent to %s", stranger.url)
	}
	b.provider("other", nil, carol)
	other := oidcserver.New(t, carol)
	other.SetClient(oidcserver.Client{ID: "axle", Secret: "hush", Redirects: []string{b.URL + "/login/callback/third"}})
	if _, err := b.identity().CreateProvider(t.Context(), byRoot, account.Provider{Name: "third", Issuer: other.URL, ClientID: "axle"}, "hush"); err != nil {
		t.Fatal(err)
	}
	stranger.through("third", other, carol)
	stranger.get(at)
	stranger.wants(http.StatusNotFound, "has ended, or is another person&#39;s")
	next := b.trial(terms, "hush")
	v.get(at)
	v.wants(http.StatusNotFound, "has ended")
	v.throughFrom(next, p, bob)
	v.wants(http.StatusOK, "It works")
	b.later(11 * 60e9)
	v.get(next)
	v.wants(http.StatusNotFound, "has ended")
}

// A stored secret goes to the issuer that it is for, with the authority that it was
// given for, and nowhere else.
func TestATrialTakesNoSecretElsewhere(t *testing.T) {
	b, _, _, terms := trialBed(t)
	if _, err := b.identity().CreateProvider(t.Context(), byRoot, terms, "hush"); err != nil {
		t.Fatal(err)
	}
	by := b.person(owner)
	id, _, err := b.identity().StartTrial(t.Context(), by, terms, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, secret, err := b.identity().Trial(t.Context(), by, id); secret != "hush" || err != nil {
		t.Errorf("the secret of the same provider: %q, %v", secret, err)
	}
	moved, trusting := terms, terms
	moved.Issuer = "https://evil.test"
	authority := httptest.NewTLSServer(nil)
	defer authority.Close()
	trusting.CAPEM = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw}))
	for name, tc := range map[string]struct {
		terms account.Provider
		code  errcode.Code
	}{"issuer": {moved, errcode.Conflict}, "authority": {trusting, errcode.Invalid}} {
		if _, _, err := b.identity().StartTrial(t.Context(), by, tc.terms, nil); !errcode.Is(err, tc.code) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	_, _, err = b.identity().StartTrial(t.Context(), identity.Principal{Kind: identity.KindServiceAccount, ID: "sa_1"}, terms, nil)
	if !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("a service account: %v", err)
	}
}
