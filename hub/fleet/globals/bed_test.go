package globals_test

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// bed is a fleet with global services.
type bed struct {
	*fleettest.Fleet
	*globals.Globals
	t *testing.T
	d storetest.Database
}

func newBed(t *testing.T, d storetest.Database) *bed {
	t.Helper()
	b := &bed{Fleet: fleettest.New(t, d), t: t, d: d}
	b.Globals = b.Global(b.Store)
	b.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
	return b
}

// request is a global service of the folder web on the clusters with tier=dev.
func request() globals.Request {
	return globals.Request{Name: "web", Selectors: globals.Selectors{Tags: map[string]string{"tier": "dev"}}, Spec: fleettest.Spec("web")}
}

func (b *bed) apply(r globals.Request) globals.Global {
	b.t.Helper()
	g, _, err := b.Apply(b.t.Context(), "ann", r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.spread()
	return g
}

func (b *bed) spread() {
	b.t.Helper()
	if err := b.Spread(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) target(cluster string) fleet.ServiceView {
	b.t.Helper()
	return b.Must(b.Service(b.t.Context(), fleet.Ref{Cluster: cluster, Name: "web"}))
}

func (b *bed) wantNone(cluster string) {
	b.t.Helper()
	if v, err := b.Service(b.t.Context(), fleet.Ref{Cluster: cluster, Name: "web"}); !errcode.Is(err, errcode.NotFound) {
		b.t.Errorf("%s has the service %+v, %v", cluster, v.Service, err)
	}
}

// count counts rows.
func (b *bed) count(query string) (n int) {
	b.t.Helper()
	if err := b.d.SQL(b.t).QueryRowContext(b.t.Context(), query).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bed) retag(cluster string, tags map[string]string) {
	b.t.Helper()
	if _, err := b.UpdateCluster(b.t.Context(), "ann", cluster, fleet.ClusterChange{Tags: &tags, FleetWide: true}); err != nil {
		b.t.Fatal(err)
	}
	b.spread()
}

// Apply is that of global services, not that of the feed.
func (b *bed) Apply(ctx context.Context, by string, r globals.Request) (globals.Global, fleet.Outcome, error) {
	return b.Globals.Apply(ctx, by, r)
}
