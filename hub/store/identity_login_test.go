package store_test

import (
	"context"
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

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// write runs fn in a transaction of the store.
func (g *gate) write(fn func(ctx context.Context) error) {
	g.t.Helper()
	if err := g.yard.store.Write(g.t.Context(), fn); err != nil {
		g.t.Fatal(err)
	}
}

// With another authority another server could be accepted as the issuer, so the
// client secret must be given again.
func TestAProvidersSecretIsGivenAgainWithItsAuthority(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		terms := account.Provider{Name: "okta", Issuer: "https://example.okta.com", ClientID: "c"}
		if _, err := g.CreateProvider(t.Context(), g.ann, terms, "hush"); err != nil {
			t.Fatal(err)
		}
		authority := authorityPEM(t)
		with := func(secret *string) error {
			_, err := g.UpdateProvider(t.Context(), g.ann, "okta", secret, func(p *account.Provider) { p.CAPEM = authority })
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
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		s := g.yard.store
		if _, err := g.CreateGroup(t.Context(), "ann", "platform", ""); err != nil {
			t.Fatal(err)
		}
		terms := account.Provider{
			Name: "okta", Issuer: "https://example.okta.com", ClientID: "c", Scopes: []string{"email", "groups"}, GroupsClaim: "groups",
			Groups: map[string]string{"eng": "platform"}, EmailDomains: []string{"example.com"},
		}
		made, err := g.CreateProvider(t.Context(), g.ann, terms, "hush")
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.CreateProvider(t.Context(), g.ann, terms, "")
		wantCode(t, err, errcode.Conflict)
		stored, err := s.ProviderByName(t.Context(), "okta")
		if err != nil || stored.Sealed == "" || stored.Sealed == "hush" {
			t.Errorf("secret %q, %v", stored.Sealed, err)
		}
		got, secret, err := g.ProviderByName(t.Context(), "okta")
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
			if _, err := g.CreateProvider(t.Context(), g.ann, q, ""); !errcode.Is(err, errcode.Invalid) && !errcode.Is(err, errcode.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		user, err := g.LoginBy(t.Context(), got, account.Claims{Subject: "s1", Email: "bob@example.com", EmailVerified: true, Groups: []string{"eng", "raw"}})
		if err != nil || user.Name != "bob@example.com" {
			t.Fatalf("%+v, %v", user, err)
		}
		made2, err := g.StartSession(t.Context(), user, account.SessionTerms{Method: account.MethodOIDC, ProviderID: got.ID}, "an.id.token")
		if err != nil {
			t.Fatal(err)
		}
		who, err := g.AuthenticateSession(t.Context(), made2.Secret)
		if err != nil || !slices.Equal(who.Groups, []string{"platform"}) {
			t.Errorf("groups %q, %v", who.Groups, err)
		}
		if id, hint, err := g.LogoutHint(t.Context(), made2.ID); id != got.ID || hint != "an.id.token" || err != nil {
			t.Errorf("hint %q %q, %v", id, hint, err)
		}
		if row, err := s.Session(t.Context(), made2.ID); err != nil || row.Sealed == "an.id.token" {
			t.Errorf("the ID token lies open: %+v, %v", row, err)
		}
		if _, err := g.UpdateProvider(t.Context(), g.ann, "okta", nil, func(p *account.Provider) { p.Title = "Okta" }); err != nil {
			t.Fatal(err)
		}
		if got, secret, err := g.ProviderByName(t.Context(), "okta"); got.Title != "Okta" || secret != "hush" || err != nil {
			t.Errorf("%+v %q %v", got, secret, err)
		}
		if err := g.DeleteProvider(t.Context(), g.ann, "okta"); err != nil {
			t.Fatal(err)
		}
		if _, err := g.AuthenticateSession(t.Context(), made2.Secret); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("its session lives on: %v", err)
		}
		if members, err := s.MembershipsOf(t.Context(), user.ID, "okta"); len(members) != 0 || err != nil {
			t.Errorf("its memberships live on: %v %v", members, err)
		}
		wantCode(t, g.DeleteProvider(t.Context(), g.ann, "okta"), errcode.NotFound)
	})
}

// A session that ends at one replica is refused by the others within 5 s, as a
// token is.
func TestRevokedSessionStopsWithin5s(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		other := g.replica()
		ann, err := g.UserByName(t.Context(), "ann@example.com")
		if err != nil {
			t.Fatal(err)
		}
		for name, end := range map[string]func(identity.CreatedToken) error{
			"one": func(s identity.CreatedToken) error { return g.EndSession(t.Context(), g.ann, s.ID) },
			"all": func(identity.CreatedToken) error { _, err := g.EndSessions(t.Context(), g.ann, "", false); return err },
		} {
			s, err := g.StartSession(t.Context(), ann, account.SessionTerms{Method: account.MethodPassword}, "")
			if err != nil {
				t.Fatal(err)
			}
			if who, err := other.AuthenticateSession(t.Context(), s.Secret); err != nil || who.Name != ann.Name {
				t.Fatalf("%s: another replica: %+v, %v", name, who, err)
			}
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			if _, err := g.AuthenticateSession(t.Context(), s.Secret); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("%s: here: %v", name, err)
			}
			// The commit wakes the other one's feed, whose next poll would come
			// 3 s later; a loaded machine gets more time.
			eventually.For(t, time.Minute, "the other replica refuses the session", func() error {
				_, err := other.AuthenticateSession(t.Context(), s.Secret)
				if errcode.Is(err, errcode.Unauthorized) {
					return nil
				}
				return errcode.New(errcode.Internal, "still let in: %v", err)
			})
		}
		// Sessions of other users stay.
		s, err := g.StartSession(t.Context(), ann, account.SessionTerms{Method: account.MethodPassword}, "")
		if err != nil {
			t.Fatal(err)
		}
		eve := identity.Principal{Kind: identity.KindUser, ID: "usr_eve", Name: "eve", Scopes: []string{"admin"}}
		wantCode(t, g.EndSession(t.Context(), eve, s.ID), errcode.NotFound)
		_, err = g.EndSessions(t.Context(), eve, ann.ID, false)
		wantCode(t, err, errcode.Forbidden)
	})
}

func TestPasswordsAndPasskeysAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		s := g.yard.store
		if _, err := s.Password(t.Context(), "usr_x"); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("no password: %v", err)
		}
		want := account.StoredPassword{UserID: "usr_x", Hash: "h", ChangedAt: 5, SealedTOTP: "t", TOTPStep: 7}
		g.write(func(ctx context.Context) error {
			return s.PutPassword(ctx, account.StoredPassword{UserID: "usr_x", Hash: "old"})
		})
		g.write(func(ctx context.Context) error { return s.PutPassword(ctx, want) })
		if got, err := s.Password(t.Context(), "usr_x"); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		for step, fresh := range map[int64]bool{7: false, 6: false} {
			g.write(func(ctx context.Context) error {
				if ok, err := s.UseTOTPStep(ctx, "usr_x", step); ok != fresh || err != nil {
					t.Errorf("step %d: %v %v", step, ok, err)
				}
				return nil
			})
		}
		g.write(func(ctx context.Context) error {
			if ok, err := s.UseTOTPStep(ctx, "usr_x", 8); !ok || err != nil {
				t.Errorf("the next step: %v %v", ok, err)
			}
			return nil
		})
		key := account.Passkey{ID: "k1", UserID: "usr_x", Name: "phone", Credential: "{}", CreatedAt: 1}
		g.write(func(ctx context.Context) error { return s.InsertPasskey(ctx, key) })
		wantCode(t, s.Write(t.Context(), func(ctx context.Context) error { return s.InsertPasskey(ctx, key) }), errcode.Conflict)
		key.Credential, key.LastUsedAt = `{"n":2}`, 9
		g.write(func(ctx context.Context) error { return s.UpdatePasskey(ctx, key) })
		if got, err := s.Passkeys(t.Context(), "usr_x"); err != nil || len(got) != 1 || got[0] != key {
			t.Errorf("%+v, %v", got, err)
		}
		g.write(func(ctx context.Context) error {
			if ok, err := s.DeletePasskey(ctx, "usr_other", "k1"); ok || err != nil {
				t.Errorf("somebody else's: %v %v", ok, err)
			}
			if ok, err := s.DeletePasskey(ctx, "usr_x", "k1"); !ok || err != nil {
				t.Errorf("their own: %v %v", ok, err)
			}
			return nil
		})
	})
}

func TestDevicesAreBoundedAndOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		s := g.yard.store
		device := func(hash, code, source string, created int64) account.Device {
			return account.Device{Hash: []byte(hash), UserCode: code, Source: source, Scopes: []string{"read"}, Interval: 5, CreatedAt: created, ExpiresAt: 1000}
		}
		for _, d := range []account.Device{device("h1", "A", "x", 1), device("h2", "B", "x", 2), device("h3", "C", "y", 0)} {
			g.write(func(ctx context.Context) error { return s.InsertDevice(ctx, d) })
		}
		wantCode(t, s.Write(t.Context(), func(ctx context.Context) error { return s.InsertDevice(ctx, device("h9", "A", "x", 1)) }), errcode.Conflict)
		if all, own, err := s.CountDevices(t.Context(), "x", 999); all != 3 || own != 2 || err != nil {
			t.Errorf("%d, %d, %v", all, own, err)
		}
		g.write(func(ctx context.Context) error { return s.DropBusiestDevice(ctx, 999) })
		if _, err := s.Device(t.Context(), []byte("h1")); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("the oldest of the busiest: %v", err)
		}
		d, err := s.DeviceByUserCode(t.Context(), "B")
		if err != nil {
			t.Fatal(err)
		}
		d.UserID, d.UserToken, d.PolledAt, d.Interval = "u", "t", 7, 10
		g.write(func(ctx context.Context) error { return s.UpdateDevice(ctx, d) })
		got, err := s.Device(t.Context(), []byte("h2"))
		if diff := cmp.Diff(d, got); diff != "" || err != nil {
			t.Errorf("%s %v", diff, err)
		}
		g.write(func(ctx context.Context) error { return s.DeleteDevice(ctx, []byte("h2")) })
		g.write(func(ctx context.Context) error { return s.UseOnce(ctx, "state a", 500) })
		wantCode(t, s.Write(t.Context(), func(ctx context.Context) error { return s.UseOnce(ctx, "state a", 500) }), errcode.Conflict)
		g.write(func(ctx context.Context) error { return s.DropSessions(ctx, 2000) })
		g.write(func(ctx context.Context) error { return s.UseOnce(ctx, "state a", 500) })
		if all, _, err := s.CountDevices(t.Context(), "", 0); all != 0 || err != nil {
			t.Errorf("%d devices that expired, %v", all, err)
		}
	})
}
