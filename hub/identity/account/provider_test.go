package account_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// With another authority another server could be accepted as the issuer, so the
// client secret must be given again.
func TestAProvidersSecretIsGivenAgainWithItsAuthority(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		terms := account.Provider{Name: "okta", Issuer: "https://example.okta.com", ClientID: "c"}
		if _, err := env.CreateProvider(t.Context(), env.Ann, terms, "hush"); err != nil {
			t.Fatal(err)
		}
		authority := authorityPEM(t)
		with := func(secret *string) error {
			_, err := env.UpdateProvider(t.Context(), env.Ann, "okta", secret, func(p *account.Provider) { p.CAPEM = authority })
			return err
		}
		if err := with(nil); !errcode.Is(err, errcode.Invalid) || !strings.HasPrefix(errcode.Message(err), "ca_pem: ") {
			t.Errorf("another authority with the kept secret: %v", err)
		}
		again, public := "hush", ""
		if err := with(&again); err != nil {
			t.Errorf("with the secret given again: %v", err)
		}
		authority = ""
		if err := with(nil); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("the system's authorities with the kept secret: %v", err)
		}
		if err := with(&public); err != nil {
			t.Error(err)
		}
		authority = authorityPEM(t)
		if err := with(nil); err != nil {
			t.Errorf("without a secret: %v", err)
		}
	})
}

// authorityPEM returns an unrelated certificate.
func authorityPEM(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestLoginProvidersAreKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		s := env.Fleet.Store
		if _, err := env.CreateGroup(t.Context(), "ann", "platform", ""); err != nil {
			t.Fatal(err)
		}
		terms := account.Provider{
			Name: "okta", Issuer: "https://example.okta.com", ClientID: "c", Scopes: []string{"email", "groups"}, GroupsClaim: "groups",
			Groups: map[string]string{"eng": "platform"}, EmailDomains: []string{"example.com"},
		}
		made, err := env.CreateProvider(t.Context(), env.Ann, terms, "hush")
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.CreateProvider(t.Context(), env.Ann, terms, "")
		fleettest.WantCode(t, err, errcode.Conflict)
		stored, err := s.ProviderByName(t.Context(), "okta")
		if err != nil || stored.Sealed == "" || stored.Sealed == "hush" {
			t.Errorf("secret %q, %v", stored.Sealed, err)
		}
		got, secret, err := env.ProviderByName(t.Context(), "okta")
		if diff := cmp.Diff(made, got); diff != "" || secret != "hush" || err != nil {
			t.Errorf("%s secret %q, %v", diff, secret, err)
		}
		for name, bad := range map[string]func(*account.Provider){
			"plain http":    func(p *account.Provider) { p.Issuer = "http://idp.example.com" },
			"no such group": func(p *account.Provider) { p.Groups = map[string]string{"a": "nobody"} },
			"no claim":      func(p *account.Provider) { p.GroupsClaim = "" },
			"name":          func(p *account.Provider) { p.Name = "../x" },
			"domain":        func(p *account.Provider) { p.EmailDomains = []string{"*.example.com"} },
		} {
			q := terms
			q.Name = "other"
			bad(&q)
			if _, err := env.CreateProvider(t.Context(), env.Ann, q, ""); !errcode.Is(err, errcode.Invalid) && !errcode.Is(err, errcode.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		user, err := env.LoginBy(t.Context(), got, account.Claims{Subject: "s1", Email: "bob@example.com", EmailVerified: true, Groups: []string{"eng", "raw"}})
		if err != nil || user.Name != "bob@example.com" {
			t.Fatalf("%+v, %v", user, err)
		}
		made2, err := env.StartSession(t.Context(), user, account.SessionTerms{Method: account.MethodOIDC, ProviderID: got.ID}, "an.id.token")
		if err != nil {
			t.Fatal(err)
		}
		who, err := env.AuthenticateSession(t.Context(), made2.Secret)
		if err != nil || !slices.Equal(who.Groups, []string{"platform"}) {
			t.Errorf("groups %q, %v", who.Groups, err)
		}
		if id, hint, err := env.LogoutHint(t.Context(), made2.ID); id != got.ID || hint != "an.id.token" || err != nil {
			t.Errorf("hint %q %q, %v", id, hint, err)
		}
		if row, err := s.Session(t.Context(), made2.ID); err != nil || row.Sealed == "an.id.token" {
			t.Errorf("the ID token lies open: %+v, %v", row, err)
		}
		if _, err := env.UpdateProvider(t.Context(), env.Ann, "okta", nil, func(p *account.Provider) { p.Title = "Okta" }); err != nil {
			t.Fatal(err)
		}
		if got, secret, err := env.ProviderByName(t.Context(), "okta"); got.Title != "Okta" || secret != "hush" || err != nil {
			t.Errorf("%+v %q %v", got, secret, err)
		}
		if err := env.DeleteProvider(t.Context(), env.Ann, "okta"); err != nil {
			t.Fatal(err)
		}
		if _, err := env.AuthenticateSession(t.Context(), made2.Secret); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("its session lives on: %v", err)
		}
		if members, err := s.MembershipsOf(t.Context(), user.ID, "okta"); len(members) != 0 || err != nil {
			t.Errorf("its memberships live on: %v %v", members, err)
		}
		fleettest.WantCode(t, env.DeleteProvider(t.Context(), env.Ann, "okta"), errcode.NotFound)
	})
}

func TestMembershipsBySourceEndApart(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		bob, secret := env.AddUser("bob@example.com")
		for _, name := range []string{"web", "ops", "db"} {
			if _, err := env.CreateGroup(t.Context(), "ann", name, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := env.AddMember(t.Context(), "ann", "web", "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		groups := func() string {
			t.Helper()
			p, err := env.Authenticate(t.Context(), secret)
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(p.Groups, " ")
		}
		provider := func(name string) account.Provider {
			made, err := env.CreateProvider(t.Context(), env.Ann, account.Provider{
				Name: name, Issuer: "https://" + name + ".example.com", ClientID: "c", GroupsClaim: "groups",
				Groups: map[string]string{"web": "web", "ops": "ops", "db": "db"},
			}, "secret")
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		corp, other := provider("corp"), provider("other")
		for _, step := range []struct {
			source account.Provider
			says   []string
			want   string
		}{
			{corp, []string{"ops", "web", "no group of the hub", "system:masters"}, "ops web"},
			{corp, []string{"ops", "web"}, "ops web"},
			{other, []string{"db"}, "db ops web"},
			{corp, nil, "db web"},
			{other, nil, "web"},
		} {
			// A user is linked to one account at a time.
			if err := env.Unlink(t.Context(), env.Ann, "bob@example.com"); err != nil {
				t.Fatal(err)
			}
			says := account.Claims{Subject: "s", Email: "bob@example.com", EmailVerified: true, Groups: step.says}
			if _, err := env.LoginBy(t.Context(), step.source, says); err != nil {
				t.Fatal(err)
			}
			if got := groups(); got != step.want {
				t.Errorf("after %s said %v: in %q, want %q", step.source.Name, step.says, got, step.want)
			}
		}
		_, members, memberships, err := env.GroupMembers(t.Context(), "web")
		if err != nil || len(members) != 1 || len(memberships[bob.ID]) != 1 {
			t.Errorf("%v %v %v", members, memberships, err)
		}
		fleettest.WantCode(t, env.RemoveMember(t.Context(), "ann", "ops", "bob@example.com"), errcode.NotFound)
		if err := env.RemoveMember(t.Context(), "ann", "web", "bob@example.com"); err != nil || groups() != "" {
			t.Errorf("in %q, %v", groups(), err)
		}
	})
}
