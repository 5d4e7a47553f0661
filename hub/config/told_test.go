package config_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// telling counts the services that are brought up to date.
type telling struct {
	*fleet.Fleet
	told atomic.Int32
}

func (s *telling) Reconfigure(ctx context.Context, serviceID, by string, refresh bool) (bool, error) {
	s.told.Add(1)
	return s.Fleet.Reconfigure(ctx, serviceID, by, refresh)
}

// A context's services are updated once per change, by the current leader, and
// not again by the next one. Their revisions name the user who changed the
// context.
func TestServicesAreToldOnceOfAContext(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		env.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "shop", ValueSet: fleet.ValueSet{Values: map[string]any{"colour": "red"}}})
		env.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
		uses := fleettest.Spec("web")
		uses.Contexts = []string{"shop"}
		env.Must(env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: ref, Spec: uses}))
		// No replica leads meanwhile.
		if _, err := env.Values.SetValueSet(t.Context(), config.ValueSetChange{Kind: config.KindContext, Name: "shop", By: "dora", ValueSet: fleet.ValueSet{Values: map[string]any{"colour": "blue"}}}); err != nil {
			t.Fatal(err)
		}
		lead := func() (services *telling, stop func()) {
			services = &telling{Fleet: env.Fleet}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- env.Values.Lead(ctx, services) }()
			eventually.For(t, 10*time.Second, "all are told", func() error {
				left, err := env.Store.UntoldValueSets(t.Context())
				if err == nil && len(left) > 0 {
					err = errors.New("some were not told")
				}
				return err
			})
			return services, func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		first, stop := lead()
		stop()
		revisions, err := env.Revisions(t.Context(), ref)
		if err != nil || len(revisions) != 2 || revisions[0].By != "dora" || revisions[0].Cause != fleet.CauseConfiguration {
			t.Errorf("revisions %+v, %v; want a second one by dora", revisions, err)
		}
		if n := first.told.Load(); n != 1 {
			t.Errorf("%d services were told of a change of one's context", n)
		}
		next, stop := lead()
		stop()
		if n := next.told.Load(); n != 0 {
			t.Errorf("whoever led next told %d services of what they have", n)
		}
	})
}
