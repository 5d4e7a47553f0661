package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/syncwindow"
)

func TestSyncWindowHoldsANewRevisionAndReleasesIt(t *testing.T) {
	now := clock.NewManual(time.Date(2026, 1, 5, 21, 0, 0, 0, time.UTC))
	b := newBed(t, nil)
	change := func(cfg *apply.Config) { cfg.Clock = now }
	b.engine = b.restart(change)
	night, err := syncwindow.Parse(syncwindow.Spec{Kind: syncwindow.Deny, Schedule: "0 22 * * *", Duration: "8h", TimeZone: "UTC", Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	service := newService("d1")
	service.Windows = []syncwindow.Window{night}
	if result := b.pass(service, configMap("a", "old"), configMap("b", "old")); result.Phase != apply.PhaseApplied {
		t.Fatalf("before the window: %+v", result)
	}
	now.Advance(2 * time.Hour)
	service.TarballDigest = "d2"
	mark := b.mark()
	result := b.pass(service, configMap("a", "new"))
	if result.Sync != apply.SyncHeld || result.Reason != apply.ReasonWindow || !strings.Contains(result.Message, "2026-01-06T06:00:00Z") || !result.Partly || result.Again == 0 || result.Again > time.Hour {
		t.Errorf("in the window: %+v", result)
	}
	b.engine = b.restart(change)
	if result = b.pass(service, configMap("a", "new")); result.Sync != apply.SyncHeld {
		t.Errorf("after a restart: %+v", result)
	}
	for _, e := range b.requests(mark) {
		if e.Verb != "list" {
			t.Errorf("a held service sends %s %s", e.Verb, e.URI)
		}
	}
	// The revision applied before may be applied again.
	service.TarballDigest = "d1"
	if result = b.pass(service, configMap("a", "old"), configMap("b", "old")); result.Phase != apply.PhaseApplied || result.Sync != apply.SyncSynced {
		t.Errorf("the revision that was there: %+v", result)
	}
	// A person asks, and the window lets that through, once.
	service.TarballDigest, service.SyncRequest = "d2", 1
	if result = b.pass(service, configMap("a", "new"), configMap("b", "old")); result.Phase != apply.PhaseApplied {
		t.Errorf("asked for: %+v", result)
	}
	service.TarballDigest = "d3"
	if result = b.pass(service, configMap("a", "newer"), configMap("b", "old")); result.Sync != apply.SyncHeld {
		t.Errorf("the one after: %+v", result)
	}
	now.Advance(8 * time.Hour)
	if result = b.pass(service, configMap("a", "newer"), configMap("b", "old")); result.Phase != apply.PhaseApplied {
		t.Errorf("after the window: %+v", result)
	}
}

func TestSelectAppliesOnlyWhatIsNamed(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, configMap("a", "old"), configMap("b", "old"), configMap("c", "v"))
	service.TarballDigest, service.SyncRequest, service.Only = "d2", 1, []string{":ConfigMap:a", ":ConfigMap:" + service.Namespace + "/made", "apps:Deployment:none"}
	docs := []string{configMap("a", "new"), configMap("b", "new"), configMap("made", "v")}
	result, err := b.engine.Select(t.Context(), b.permit(b.engine, service), service, objects(t, docs...))
	if err != nil || result.Applied != 2 || !result.Partly || len(result.Problems) != 1 || !strings.Contains(result.Problems[0].Message, "apps:Deployment:none") {
		t.Errorf("%+v %v", result, err)
	}
	for name, want := range map[string]string{"a": "new", "b": "old", "made": "v", "c": "v"} {
		if m, err := b.configMap(service.Namespace, name); err != nil || m.Data["key"] != want {
			t.Errorf("%s: %v %v", name, m, err)
		}
	}
	b.engine = b.restart(nil)
	if state, _ := b.engine.State(service.ID); state.TarballDigest != "d1" || state.SyncRequest != 1 || state.Objects != 4 {
		t.Errorf("%+v", state)
	}
	if result := b.pass(service, docs...); result.Phase != apply.PhaseApplied || result.Applied != 1 || result.Pruned != 1 {
		t.Errorf("the whole sync afterwards: %+v", result)
	}
}
