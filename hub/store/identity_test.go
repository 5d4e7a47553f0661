package store_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/wiring"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// gate is a directory on a real database, with the fleet that it registers
// clusters in and a feed that keeps its index.
type gate struct {
	identities
	yard *yard
	t    *testing.T
	ann  identity.Principal
}

func newGate(t *testing.T, p place) *gate {
	t.Helper()
	g := &gate{yard: newYard(t, p), t: t}
	g.identities = g.replica()
	secret, err := g.PrepareSetup(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	made, err := g.Setup(t.Context(), secret, "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if g.ann, err = g.Authenticate(t.Context(), made.Secret); err != nil {
		t.Fatal(err)
	}
	return g
}

// identities are the parts of the hub that know who calls.
type identities struct {
	*identity.Directory
	*account.Accounts
	*agentkey.Keys
}

// identities returns new ones on the yard's database, with the stores as change
// leaves them.
func (y *yard) identities(t *testing.T, change func(*wiring.Stores)) identities {
	t.Helper()
	stores := y.store.IdentityStores()
	change(&stores)
	p, err := wiring.New(wiring.Config{Stores: stores, Writer: y.store, Sealer: y.sealer, Clusters: y.Fleet, Clock: y.clock})
	if err != nil {
		t.Fatal(err)
	}
	return identities{p.Identity, p.Accounts, p.AgentKeys}
}

func unchanged(*wiring.Stores) {}

// replica returns other parts on the same database, with a running feed.
func (g *gate) replica() identities {
	g.t.Helper()
	d := g.yard.identities(g.t, unchanged)
	feed, err := event.NewFeed(event.FeedConfig{Store: g.yard.store})
	if err != nil {
		g.t.Fatal(err)
	}
	feed.Subscribe(d)
	feed.Subscribe(d.Keys)
	g.yard.store.OnCommit(feed.Wake)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 3)
	for _, run := range []func(context.Context) error{feed.Run, d.Run, d.Keys.Run} {
		go func() { done <- run(ctx) }()
	}
	g.t.Cleanup(func() {
		cancel()
		for range 3 {
			if err := <-done; err != nil {
				g.t.Error(err)
			}
		}
	})
	eventually.For(g.t, time.Minute, "the feed is ready", feed.Ready)
	return d
}

func (g *gate) token(r identity.TokenRequest) identity.CreatedToken {
	g.t.Helper()
	made, err := g.CreateToken(g.t.Context(), g.ann, r)
	if err != nil {
		g.t.Fatal(err)
	}
	return made
}

func (g *gate) bootstrap(r agentkey.BootstrapRequest) identity.CreatedToken {
	g.t.Helper()
	made, err := g.CreateBootstrapToken(g.t.Context(), g.ann, r)
	if err != nil {
		g.t.Fatal(err)
	}
	return made
}

// agent is a cluster's agent: a key and a place.
type agent struct {
	private ed25519.PrivateKey
	uid     string
	boot    string
}

func newAgent(t *testing.T, uid string) *agent {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &agent{private, uid, "boot-1"}
}

func (a *agent) registration(name string) agentkey.Registration {
	return agentkey.Registration{
		PublicKey: a.private.Public().(ed25519.PublicKey), ClusterUID: a.uid, Name: name, BootID: a.boot, AgentVersion: "0.1.0",
		Proof: ed25519.Sign(a.private, []byte("axle-register\n"+a.uid+"\n"+a.boot)),
	}
}

func (a *agent) renewal(clusterID string, at time.Time) agentkey.Renewal {
	r := agentkey.Renewal{ClusterID: clusterID, ClusterUID: a.uid, BootID: a.boot, At: at.UnixMicro(), Nonce: make([]byte, 16)}
	rand.Read(r.Nonce)
	r.Signature = ed25519.Sign(a.private, []byte("axle-renew\n"+r.ClusterID+"\n"+r.ClusterUID+"\n"+r.BootID+"\n"+
		strconv.FormatInt(r.At, 10)+"\n"+hex.EncodeToString(r.Nonce)))
	return r
}

// registered returns an agent and its registration.
func (g *gate) registered(name string) (*agent, agentkey.Registered) {
	g.t.Helper()
	a := newAgent(g.t, "uid-"+name)
	r, err := g.Register(g.t.Context(), g.bootstrap(agentkey.BootstrapRequest{}).Secret, a.registration(name))
	if err != nil {
		g.t.Fatal(err)
	}
	return a, r
}

func TestSetupWorksOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		y := newYard(t, p)
		g := &gate{yard: y, t: t}
		d := g.replica()
		first, err := d.PrepareSetup(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := d.PrepareSetup(t.Context(), first); err != nil || again != first {
			t.Errorf("a restart made another setup token, %v", err)
		}
		_, err = d.Setup(t.Context(), first+"x", "ann@example.com")
		wantCode(t, err, errcode.Unauthorized)
		_, err = d.Setup(t.Context(), first, "not an address")
		wantCode(t, err, errcode.Invalid)
		made, err := d.Setup(t.Context(), first, "ann@example.com")
		if err != nil {
			t.Fatal(err)
		}
		ann, err := d.Authenticate(t.Context(), made.Secret)
		if err != nil || !ann.Admin || ann.Name != "ann@example.com" || ann.Kind != identity.KindUser {
			t.Errorf("first administrator %+v, %v", ann, err)
		}
		_, err = d.Setup(t.Context(), first, "eve@example.com")
		wantCode(t, err, errcode.Unauthorized)
		if after, err := d.PrepareSetup(t.Context(), first); err != nil || after != "" {
			t.Errorf("a setup token is left after the setup, %v", err)
		}
	})
}

func TestTokensAreStoredHashed(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		api, boot := g.token(identity.TokenRequest{Name: "ci"}), g.bootstrap(agentkey.BootstrapRequest{})
		_, r := g.registered("edge-1")
		for _, secret := range []string{api.Secret, boot.Secret[:48], r.DeployToken} {
			if len(secret) > 48 {
				t.Errorf("a bearer is %d bytes, want at most 48", len(secret))
			}
			wantAbsent(t, p, secret, "tokens", "events")
		}
		keys, err := g.yard.store.SigningKeys(t.Context())
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys %v, %v", keys, err)
		}
		seed, err := g.yard.sealer.Open(keys[0].Sealed, "signing-key/"+keys[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		wantAbsent(t, p, hex.EncodeToString(seed), "signing_keys")
	})
}

func TestRevokedTokenIsRefusedByEveryReplica(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		other := g.replica()
		made := g.token(identity.TokenRequest{Name: "ci", Scopes: []string{"read"}})
		p2, err := other.Authenticate(t.Context(), made.Secret)
		if err != nil || p2.HasScope(identity.ScopeWrite) || p2.By() != "ann@example.com" {
			t.Errorf("another replica sees %+v, %v", p2, err)
		}
		if err := g.RevokeToken(t.Context(), g.ann, made.ID); err != nil {
			t.Fatal(err)
		}
		_, err = g.Authenticate(t.Context(), made.Secret)
		wantCode(t, err, errcode.Unauthorized)
		eventually.For(t, time.Minute, "the other replica refuses it", func() error {
			if _, err := other.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Errorf("err = %w", err)
			}
			return nil
		})
	})
}

func TestTokensExpireAndCannotExceedTheirMaker(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		made := g.token(identity.TokenRequest{Name: "ci", Scopes: []string{"write"}})
		if days := time.Duration(made.ExpiresAt-made.CreatedAt) * time.Microsecond / (24 * time.Hour); days != 90 {
			t.Errorf("lives %d days, want 90", days)
		}
		writer, err := g.Authenticate(t.Context(), made.Secret)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.CreateToken(t.Context(), writer, identity.TokenRequest{Name: "more", Scopes: []string{"admin"}})
		wantCode(t, err, errcode.Forbidden)
		wantCode(t, g.RevokeToken(t.Context(), identity.Principal{Kind: identity.KindUser, ID: "eve"}, made.ID), errcode.NotFound)
		short := g.token(identity.TokenRequest{Name: "short", Lifetime: time.Minute})
		g.yard.clock.Advance(time.Minute)
		_, err = g.Authenticate(t.Context(), short.Secret)
		wantCode(t, err, errcode.Unauthorized)
		// What was begun with it ends as well.
		_, err = g.Caller(t.Context(), short.ID)
		wantCode(t, err, errcode.Unauthorized)
		if p, err := g.Caller(t.Context(), made.ID); err != nil || p.ID != g.ann.ID {
			t.Errorf("the caller of a good token is %+v, %v", p, err)
		}
	})
}

// lateStore does something once between the read of a token and what follows.
type lateStore struct {
	identity.TokenReader
	then func()
}

func (s *lateStore) TokenByHash(ctx context.Context, hash []byte) (identity.Token, error) {
	t, err := s.TokenReader.TokenByHash(ctx, hash)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return t, err
}

// A replica that does not know a token reads the database, and the token is
// revoked in that moment: its row in the feed may already have been processed.
func TestATokenRevokedWhileItIsLookedUpIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		late := &lateStore{TokenReader: g.yard.store}
		// Its feed does not run, so that nothing else removes the token.
		d := g.yard.identities(t, func(s *wiring.Stores) { s.Identity.Index = late })
		if err := d.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		good, gone := g.token(identity.TokenRequest{Name: "good"}), g.token(identity.TokenRequest{Name: "gone"})
		if _, err := d.Authenticate(t.Context(), good.Secret); err != nil {
			t.Errorf("a token that the replica had not heard of: %v", err)
		}
		late.then = func() {
			if err := g.RevokeToken(t.Context(), g.ann, gone.ID); err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			_, err := d.Authenticate(t.Context(), gone.Secret)
			wantCode(t, err, errcode.Unauthorized)
		}
		if late.then != nil {
			t.Error("the database was not asked")
		}
	})
}
