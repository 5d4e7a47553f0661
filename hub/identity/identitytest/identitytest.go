package identitytest

import (
	"context"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/wiring"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// Parts are the parts of one replica that know who calls.
type Parts struct {
	*identity.Directory
	*account.Accounts
	*agentkey.Keys
}

// Stores are wiring.Stores, by a name for packages that do not import hub/identity/wiring.
type Stores = wiring.Stores

// On returns new parts on a fleet's database, with the stores as change leaves them; nil
// leaves all. Their feed does not run.
func On(f *fleettest.Fleet, change func(*Stores)) Parts {
	f.T.Helper()
	stores := f.Store.IdentityStores()
	if change != nil {
		change(&stores)
	}
	p, err := wiring.New(wiring.Config{Stores: stores, Writer: f.Store, Sealer: f.Sealer, Clusters: f, Clock: f.Clock})
	if err != nil {
		f.T.Fatal(err)
	}
	return Parts{p.Identity, p.Accounts, p.AgentKeys}
}

// Replica returns new parts on a fleet's database that run until the test ends, with
// their feed.
func Replica(f *fleettest.Fleet) Parts {
	f.T.Helper()
	p := On(f, nil)
	feed, err := event.NewFeed(event.FeedConfig{Store: f.Store})
	if err != nil {
		f.T.Fatal(err)
	}
	feed.Subscribe(p)
	feed.Subscribe(p.Keys)
	f.Store.OnCommit(feed.Wake)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 3)
	for _, run := range []func(context.Context) error{feed.Run, p.Run, p.Keys.Run} {
		go func() { done <- run(ctx) }()
	}
	f.T.Cleanup(func() {
		cancel()
		for range 3 {
			if err := <-done; err != nil {
				f.T.Error(err)
			}
		}
	})
	eventually.For(f.T, time.Minute, "the feed is ready", feed.Ready)
	return p
}

// Identity is a running replica of a hub that was set up. A failing step ends its test.
type Identity struct {
	Parts
	T *testing.T
	// Fleet is where agents register; it has the store, the clock and the sealer.
	Fleet *fleettest.Fleet
	// Ann is the first administrator, with their first token.
	Ann identity.Principal
}

// New returns one whose only user is ann@example.com.
func New(t *testing.T, d storetest.Database) *Identity {
	t.Helper()
	f := fleettest.New(t, d)
	i := &Identity{Parts: Replica(f), T: t, Fleet: f}
	secret, err := i.PrepareSetup(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	made, err := i.Setup(t.Context(), secret, "ann@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if i.Ann, err = i.Authenticate(t.Context(), made.Secret); err != nil {
		t.Fatal(err)
	}
	return i
}

// Replica returns the parts of another replica; see the function.
func (i *Identity) Replica() Parts {
	i.T.Helper()
	return Replica(i.Fleet)
}

// AddToken creates a token of ann's.
func (i *Identity) AddToken(r identity.TokenRequest) identity.CreatedToken {
	i.T.Helper()
	made, err := i.CreateToken(i.T.Context(), i.Ann, r)
	if err != nil {
		i.T.Fatal(err)
	}
	return made
}

// Login returns a session of a user's.
func (i *Identity) Login(name string) identity.CreatedToken {
	i.T.Helper()
	u, err := i.UserByName(i.T.Context(), name)
	if err != nil {
		i.T.Fatal(err)
	}
	made, err := i.StartSession(i.T.Context(), u, account.SessionTerms{Method: account.MethodPassword, ProvedAt: i.Fleet.Clock.Now().UnixMicro()}, "")
	if err != nil {
		i.T.Fatal(err)
	}
	return made
}

// AddUser creates a user and returns the caller of the user's token, and the bearer.
func (i *Identity) AddUser(name string) (identity.Principal, string) {
	i.T.Helper()
	u, err := i.CreateUser(i.T.Context(), "ann", identity.KindUser, name, false)
	if err != nil {
		i.T.Fatal(err)
	}
	made, err := i.CreateToken(i.T.Context(), identity.Principal{Kind: u.Kind, ID: u.ID, Name: u.Name, Scopes: []string{"admin"}}, identity.TokenRequest{Name: "t"})
	if err != nil {
		i.T.Fatal(err)
	}
	p, err := i.Authenticate(i.T.Context(), made.Secret)
	if err != nil {
		i.T.Fatal(err)
	}
	return p, made.Secret
}

// NewCluster creates a cluster without an agent.
func (i *Identity) NewCluster(name string, tags map[string]string) fleet.Cluster {
	i.T.Helper()
	c, err := i.Fleet.CreateCluster(i.T.Context(), "ann", fleet.NewCluster{Name: name, Tags: tags})
	if err != nil {
		i.T.Fatal(err)
	}
	return c
}

// NewProject creates a project.
func (i *Identity) NewProject(name string) fleet.Project {
	i.T.Helper()
	p, err := i.Fleet.CreateProject(i.T.Context(), "ann", fleet.NewProject{Name: name})
	if err != nil {
		i.T.Fatal(err)
	}
	return p
}
