package agentapi_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/hubtest"
)

func TestReplicasGiveOneAnswer(t *testing.T) {
	url, key := hubtest.Postgres(t), filepath.Join(t.TempDir(), "hub.key")
	config := hubConfig()
	config.DatabaseURL, config.KeyFile = url, key
	b := newBedOn(t, config)
	other := hubtest.New(t, hubtest.Config{Hub: config, AdminToken: b.AdminToken})
	a := b.register("edge-1")
	b.declare("edge-1", "web", "web")
	a.produced(1)
	_, etag := a.poll()
	seen := a.get("/agent/v1/desired").header.Get("Axle-Position")
	twin := *a
	twin.origin = other.URL
	if got := twin.get("/agent/v1/desired", "Axle-Seen", seen, "If-None-Match", etag); got.status != http.StatusNotModified {
		t.Errorf("the other replica: status %d, etag %s, want %s", got.status, got.header.Get("Etag"), etag)
	}
	// Polls that alternate see every write made on either side, and what they
	// see never goes back.
	hubs := []*hubtest.Hub{b.Hub, other}
	agents := []*agent{a, &twin}
	last := event.Position{}
	for i := range 10 {
		ctx, receipt := event.WithReceipt(t.Context())
		_, err := hubs[i%2].Parts().Fleet.CreateService(ctx, admin.Name, fleet.ServiceRequest{
			Ref:  fleet.Ref{Cluster: "edge-1", Name: fmt.Sprintf("more-%d", i)},
			Spec: fleet.Spec{Repository: "fleet", Git: &fleet.Git{Ref: "main", Folder: "web"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := agents[(i+1)%2].get("/agent/v1/desired", "Axle-Seen", receipt.Position().String())
		at, err := event.ParsePosition(got.header.Get("Axle-Position"))
		if err != nil || got.status != http.StatusOK || at.Before(receipt.Position()) || at.Before(last) {
			t.Fatalf("status %d at %s after a write at %s, last seen %s: %v", got.status, at, receipt.Position(), last, err)
		}
		last = at
	}
	for _, a := range agents {
		a.t = t
		if list := a.waitForServices(11); len(list.GetServices()) != 11 {
			t.Errorf("%d services", len(list.GetServices()))
		}
	}
	// Freshness travels too, but a poll here is enough to see it here.
	if view, err := other.Parts().Fleet.ClusterByID(t.Context(), a.cluster); err != nil || view.Freshness != fleet.Fresh {
		t.Errorf("freshness %s, %v", view.Freshness, err)
	}
}
