package agentapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestListFollowsACommit(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	if list, _ := a.poll(); len(list.GetServices()) != 0 || list.GetPending() || list.GetClusterId() != a.cluster {
		t.Errorf("list of an empty cluster: %v", list)
	}
	b.declare("edge-1", "web", "web")
	first := a.produced(1).GetServices()[0]
	if first.GetName() != "web" || first.GetNamespace() != "apps" || !strings.HasPrefix(first.GetSpecDigest(), "s1:") || first.GetTarballBytes() == 0 {
		t.Errorf("service %v", first)
	}
	b.commit("web", "two")
	a.waitFor("the commit is in the list", func(list *agentv1.Desired) error {
		if list.GetServices()[0].GetTarballDigest() == first.GetTarballDigest() {
			return fmt.Errorf("still %s", first.GetTarballDigest())
		}
		return nil
	})
}

func TestIdlePollIs304AndSmall(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	b.declare("edge-1", "web", "web")
	a.produced(1)
	_, etag := a.poll()
	known := a.get("/agent/v1/desired", "If-None-Match", etag).header.Get("Axle-Position")
	got := a.get("/agent/v1/desired", "If-None-Match", etag, "Axle-Seen", known)
	if got.status != http.StatusNotModified || len(got.body) != 0 {
		t.Fatalf("status %d, %d bytes", got.status, len(got.body))
	}
	for name := range got.header {
		switch name {
		case "Etag", "Axle-Position", "Axle-Status":
		default:
			t.Errorf("header %s is not needed", name)
		}
	}
	position, err := event.ParsePosition(got.header.Get("Axle-Position"))
	if err != nil || position.Sequence == 0 {
		t.Errorf("position %q, %v", got.header.Get("Axle-Position"), err)
	}
	// An unrelated commit changes nothing.
	b.commit("other", "x")
	if again := a.get("/agent/v1/desired", "If-None-Match", etag); again.status != http.StatusNotModified {
		t.Errorf("status %d after an unrelated commit", again.status)
	}
}

func TestNobodyIsAnsweredFromAnOlderView(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	_, etag := a.poll()
	at, err := event.ParsePosition(a.get("/agent/v1/desired").header.Get("Axle-Position"))
	if err != nil {
		t.Fatal(err)
	}
	ahead := event.Position{Incarnation: at.Incarnation, Sequence: at.Sequence + 1_000_000}
	tests := map[string]struct {
		seen    string
		token   string
		path    string
		status  int
		waiting bool
	}{
		"seen":                {at.String(), a.token, "/agent/v1/desired", http.StatusNotModified, false},
		"seen long ago":       {at.Incarnation + ".1", a.token, "/agent/v1/desired", http.StatusNotModified, false},
		"seen in an old life": {"00000000000000-aaaa.99999", a.token, "/agent/v1/desired", http.StatusNotModified, false},
		"ahead":               {ahead.String(), a.token, "/agent/v1/desired", http.StatusServiceUnavailable, true},
		"ahead, no identity":  {ahead.String(), "axle_nobody", "/agent/v1/desired", http.StatusServiceUnavailable, true},
		"ahead, no tarball":   {ahead.String(), a.token, "/agent/v1/tarballs/axle1:00", http.StatusServiceUnavailable, true},
		"nonsense":            {"yesterday", a.token, "/agent/v1/desired", http.StatusBadRequest, false},
		"no identity":         {"", "axle_nobody", "/agent/v1/desired", http.StatusUnauthorized, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caller := *a
			caller.token, caller.t = tc.token, t
			got, err := caller.tryGet(tc.path, "Axle-Seen", tc.seen, "If-None-Match", etag)
			if err != nil || got.status != tc.status {
				t.Fatalf("status %d: %s, %v", got.status, got.body, err)
			}
			if (got.header.Get("Retry-After") != "") != tc.waiting {
				t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
			}
			if got.header.Get("Axle-Position") == "" {
				t.Error("no position")
			}
		})
	}
}

func TestEveryoneReadsTheirWrites(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	for i := range 20 {
		ctx, receipt := event.WithReceipt(t.Context())
		_, err := b.Parts().Fleet.CreateService(ctx, admin.Name, fleet.ServiceRequest{
			Ref:  fleet.Ref{Cluster: "edge-1", Name: fmt.Sprintf("web-%d", i)},
			Spec: fleet.Spec{Repository: "fleet", Git: &fleet.Git{Ref: "main", Folder: "web"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := a.get("/agent/v1/desired", "Axle-Seen", receipt.Position().String())
		at, err := event.ParsePosition(got.header.Get("Axle-Position"))
		if err != nil || at.Before(receipt.Position()) || got.status != http.StatusOK {
			t.Fatalf("status %d at %v after a write at %v: %v", got.status, at, receipt.Position(), err)
		}
	}
	if list, _ := a.poll(); len(list.GetServices()) != 20 {
		t.Errorf("%d services", len(list.GetServices()))
	}
}

// A deletion that waits for something is released, or lets its objects go, while
// it is under way; it does not go back.
func TestTombstoneMayBeReleasedAndDetached(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	v := b.declare("edge-1", "web", "web")
	a.produced(1)
	fleet := b.Parts().Fleet
	first := ""
	for _, step := range []struct {
		change func() error
		mode   string
	}{
		{func() error { _, err := fleet.DeleteService(t.Context(), admin.Name, v.Ref(), false); return err }, "drain"},
		{func() error { _, err := fleet.ApprovePrune(t.Context(), admin.Name, v.Ref()); return err }, "drain-released"},
		{func() error { _, err := fleet.DeleteService(t.Context(), admin.Name, v.Ref(), false); return err }, "drain-released"},
		{func() error { _, err := fleet.DeleteService(t.Context(), admin.Name, v.Ref(), true); return err }, "detach"},
		{func() error { _, err := fleet.DeleteService(t.Context(), admin.Name, v.Ref(), false); return err }, "detach"},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		list := a.waitFor("the tombstone says "+step.mode, func(list *agentv1.Desired) error {
			if len(list.GetTombstones()) != 1 || list.GetTombstones()[0].GetMode() != step.mode {
				return fmt.Errorf("list %v", list)
			}
			return nil
		})
		if id := list.GetTombstones()[0].GetTombstoneId(); first == "" {
			first = id
		} else if id != first {
			t.Errorf("%s: another tombstone %s", step.mode, id)
		}
	}
}

func TestTombstoneIsRepeatedUntilDrained(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	v := b.declare("edge-1", "web", "web")
	a.produced(1)
	if _, err := b.Parts().Fleet.DeleteService(t.Context(), admin.Name, v.Ref(), false); err != nil {
		t.Fatal(err)
	}
	var stone *agentv1.Tombstone
	for range 3 {
		list := a.waitFor("the tombstone", func(list *agentv1.Desired) error {
			if len(list.GetTombstones()) != 1 || len(list.GetServices()) != 0 {
				return fmt.Errorf("list %v", list)
			}
			return nil
		})
		stone = list.GetTombstones()[0]
	}
	if stone.GetServiceId() != v.ID || stone.GetMode() != "drain" || stone.GetName() != "web" || stone.GetNamespace() != "apps" {
		t.Errorf("tombstone %v", stone)
	}
	drained := &agentv1.ReportRequest{BootId: a.boot, DrainedTombstones: []string{stone.GetTombstoneId()}}
	if _, err := a.calls().Report(t.Context(), withToken(a, drained)); err != nil {
		t.Fatal(err)
	}
	a.waitFor("the tombstone is gone", func(list *agentv1.Desired) error {
		if len(list.GetTombstones()) != 0 {
			return fmt.Errorf("list %v", list)
		}
		return nil
	})
}

func TestRestartKeepsETagAndTokens(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	b.declare("edge-1", "web", "web")
	a.produced(1)
	_, etag := a.poll()
	if err := b.Stop(); err != nil {
		t.Fatal(err)
	}
	again := hubtest.New(t, hubtest.Config{DataDir: b.DataDir, Hub: hubConfig()})
	a.origin = again.URL
	if got := a.get("/agent/v1/desired", "If-None-Match", etag); got.status != http.StatusNotModified {
		t.Errorf("status %d, etag %s, was %s", got.status, got.header.Get("Etag"), etag)
	}
	// The list is still signed by a key that the agent pinned.
	a.poll()
}

func TestRevokedClusterIsNobody(t *testing.T) {
	b := newBed(t)
	a := b.register("edge-1")
	a.poll()
	if err := b.Parts().AgentKeys.RevokeCluster(t.Context(), a.cluster); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the token ends", func() error {
		if got := a.get("/agent/v1/desired"); got.status != http.StatusUnauthorized {
			return fmt.Errorf("status %d", got.status)
		}
		return nil
	})
	_, err := a.calls().Services(t.Context(), withToken(a, &agentv1.ServicesRequest{}))
	if connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("call: %v", err)
	}
}

func TestPendingClusterGetsNothing(t *testing.T) {
	b := newBed(t)
	ctx := context.Background()
	a := b.registerPending("edge-9")
	if list, _ := a.poll(); !list.GetPending() || len(list.GetServices()) != 0 {
		t.Errorf("list %v", list)
	}
	_, err := a.calls().Services(t.Context(), withToken(a, &agentv1.ServicesRequest{Ids: []string{"svc_any"}}))
	if connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("specs: %v", err)
	}
	if _, err := b.Parts().Fleet.ApproveCluster(ctx, admin.Name, "edge-9"); err != nil {
		t.Fatal(err)
	}
	a.waitFor("approval", func(list *agentv1.Desired) error {
		if list.GetPending() {
			return fmt.Errorf("still pending")
		}
		return nil
	})
}
