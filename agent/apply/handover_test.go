package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// pends is a service whose objects are unknown.
func pends(names ...string) func() []apply.Pending {
	return func() []apply.Pending {
		var all []apply.Pending
		for _, name := range names {
			all = append(all, apply.Pending{Name: name, Why: "its chart is broken"})
		}
		return all
	}
}

// TestPruneWaitsForWhoMayTakeOver: two minutes quietly, then it is held and says
// for whom, however long that takes; a person releases it, once and not before
// they were told.
func TestPruneWaitsForWhoMayTakeOver(t *testing.T) {
	now := clock.NewManual(time.Unix(1e9, 0))
	b := newBed(t, func(c *apply.Config) { c.Clock = now })
	s := newService("d1")
	s.PruneApproval = 4
	own := configMap("own", "v1")
	b.pass(s, own, configMap("one", "v1"))
	s.TarballDigest, s.Unsettled = "d2", pends("web")
	// An approval given meanwhile was for something else.
	s.PruneApproval++
	result := b.pass(s, own)
	if result.Sync != apply.SyncApplying || !strings.Contains(result.Message, "waits for service web (its chart is broken)") || !result.Awaits || result.Again > 2*time.Second {
		t.Errorf("at first: %+v", result)
	}
	b.called(s, "d2")
	for _, later := range []time.Duration{121 * time.Second, 24 * time.Hour, 2000 * time.Hour} {
		now.Advance(later)
		result = b.pass(s, own)
		if result.Sync != apply.SyncHeld || result.Reason != apply.ReasonPruneHeld || !strings.Contains(result.Message, "service web (its chart is broken)") || !strings.Contains(result.Message, "approve-prune") || !result.Awaits || result.Again < 30*time.Second {
			t.Errorf("after %v more: %+v", later, result)
		}
		if b.uidOf(s.Namespace, "one") == "" {
			t.Fatalf("it was deleted after %v more", later)
		}
	}
	// A new agent knows what was reported, and what has been approved since.
	b.engine = b.restart(func(c *apply.Config) { c.Clock = now })
	s.Unsettled = pends("web", "shop")
	if result = b.pass(s, own); result.Sync != apply.SyncHeld || !strings.Contains(result.Message, "service web (its chart is broken), service shop") {
		t.Errorf("after a restart: %+v", result)
	}
	s.PruneApproval++
	if result = b.pass(s, own); result.Phase != apply.PhaseApplied || result.Pruned != 1 || b.uidOf(s.Namespace, "one") != "" {
		t.Errorf("released: %+v", result)
	}

	// One approval is for one such prune.
	s.TarballDigest = "d3"
	b.pass(s, own, configMap("two", "v1"))
	s.TarballDigest = "d4"
	b.pass(s, own)
	now.Advance(time.Hour)
	if result = b.pass(s, own); result.Sync != apply.SyncHeld || b.uidOf(s.Namespace, "two") == "" {
		t.Errorf("the next prune: %+v", result)
	}
	// There is no service to wait for now: it continues by itself.
	s.Unsettled = nil
	if result = b.pass(s, own); result.Phase != apply.PhaseApplied || result.Pruned != 1 {
		t.Errorf("once they were rendered: %+v", result)
	}
}

// Who could not be given an object by its limits is not waited for with it.
func TestPruneWaitsForNobodyWhoMayNotTakeOver(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	b.pass(s, configMap("own", "v1"), configMap("one", "v1"))
	s.TarballDigest = "d2"
	s.Unsettled = func() []apply.Pending {
		return []apply.Pending{{Name: "web", Why: "broken", Takes: func(kind kubeobj.Kind, ref kubeobj.Ref) bool { return kind.Kind != "ConfigMap" || ref.Name != "one" }}}
	}
	if result := b.pass(s, configMap("own", "v1")); result.Phase != apply.PhaseApplied || result.Pruned != 1 {
		t.Errorf("%+v", result)
	}
}

// An object that another service renders and cannot take is neither deleted nor
// given to it.
func TestObjectWaitsForAnHeirThatCannotTakeIt(t *testing.T) {
	b := newBed(t, nil)
	moved := func(namespace string) string { return configMap("moved", "v1", "namespace: "+namespace) }
	for name, test := range map[string]struct {
		claim func(to apply.Service, doc string)
		why   string
	}{
		"it is paused": {func(to apply.Service, doc string) {
			if err := b.engine.Claim(t.Context(), b.permit(b.engine, to), to, objects(t, doc), "it is paused"); err != nil {
				t.Fatal(err)
			}
		}, "it is paused"},
		"its limits refuse it": {func(to apply.Service, doc string) {
			b.tenant(to.Namespace, "deployer")
			permit := b.asTenant(to, "deployer", tenancy.Limits{Kinds: []string{"Secret"}})
			if result, err := b.engine.Pass(t.Context(), permit, to, objects(t, doc)); err != nil || result.Sync != apply.SyncFailed {
				t.Fatalf("%+v %v", result, err)
			}
		}, "kind ConfigMap is not one of those"},
		"its sync window is closed": {func(to apply.Service, doc string) {
			to.Windows = closed(t)
			if result := b.pass(to, doc); result.Sync != apply.SyncHeld {
				t.Fatalf("%+v", result)
			}
		}, "window"},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newService("d1"), newService("d1")
			doc := moved(from.Namespace)
			b.pass(from, configMap("own", "v1"), doc)
			uid := b.uidOf(from.Namespace, "moved")
			test.claim(to, doc)
			from.TarballDigest = "d2"
			result := b.pass(from, configMap("own", "v1"))
			if !result.Awaits || result.Pruned+result.Left > 0 || !strings.Contains(result.Message, "service "+to.Name) || !strings.Contains(result.Message, test.why) {
				t.Errorf("%+v", result)
			}
			if drained, err := b.engine.Drain(t.Context(), b.permit(b.engine, from), from); err != nil || drained.Done || !drained.Awaits || !strings.Contains(drained.Message, test.why) {
				t.Errorf("a drain: %+v %v", drained, err)
			}
			if b.uidOf(from.Namespace, "moved") != uid || b.ownerOf(from.Namespace, "moved") != from.ID {
				t.Error("it was deleted, or given away")
			}
			// Then it can: the object moves as it is.
			to.Windows = nil
			if result := b.pass(to, doc); result.Reason != apply.ReasonOwnership && result.Phase != apply.PhaseApplied {
				t.Errorf("the heir: %+v", result)
			}
			if drained, err := b.engine.Drain(t.Context(), b.permit(b.engine, from), from); err != nil || !drained.Done {
				t.Errorf("the drain: %+v %v", drained, err)
			}
			if b.uidOf(from.Namespace, "moved") != uid || b.ownerOf(from.Namespace, "moved") != to.ID {
				t.Error("it was deleted, or is not the heir's")
			}
		})
	}
}

// An object is deleted if the service that claimed it no longer renders it, or has
// left.
func TestClaimEnds(t *testing.T) {
	b := newBed(t, nil)
	for name, end := range map[string]func(to apply.Service){
		"it renders something else": func(to apply.Service) {
			if err := b.engine.Claim(t.Context(), b.permit(b.engine, to), to, objects(t, configMap("else", "v1")), "it is paused"); err != nil {
				t.Fatal(err)
			}
		},
		"it is not to be here any more": func(to apply.Service) { b.engine.Unclaim(to.ID) },
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newService("d1"), newService("d1")
			to.Namespace = from.Namespace
			b.pass(from, configMap("own", "v1"), configMap("one", "v1"))
			if err := b.engine.Claim(t.Context(), b.permit(b.engine, to), to, objects(t, configMap("one", "v1")), "it is paused"); err != nil {
				t.Fatal(err)
			}
			end(to)
			from.TarballDigest = "d2"
			if result := b.pass(from, configMap("own", "v1")); result.Phase != apply.PhaseApplied || result.Pruned != 1 {
				t.Errorf("%+v", result)
			}
		})
	}
}

// A volume claim is never pruned, but it can move with its service.
func TestKeptKindsAreHandedOver(t *testing.T) {
	b := newBed(t, nil)
	from, to := newService("d1"), newService("d1")
	to.Namespace = from.Namespace
	const volume = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
	b.pass(from, configMap("own", "v1"), volume)
	b.pass(to, volume)
	from.TarballDigest = "d2"
	b.pass(from, configMap("own", "v1"))
	if result := b.pass(to, volume); result.Phase != apply.PhaseApplied {
		t.Errorf("%+v", result)
	}
}

// A drain waits as a prune does, and continues when it is released.
func TestDrainWaitsUntilItIsReleased(t *testing.T) {
	now := clock.NewManual(time.Unix(1e9, 0))
	b := newBed(t, func(c *apply.Config) { c.Clock = now })
	s := newService("d1")
	b.pass(s, configMap("one", "v1"))
	s.Unsettled = pends("web")
	for _, later := range []time.Duration{0, 3 * time.Minute, time.Hour} {
		now.Advance(later)
		result, err := b.engine.Drain(t.Context(), b.permit(b.engine, s), s)
		if err != nil || result.Done || !strings.Contains(result.Message, "service web (its chart is broken)") || strings.Contains(result.Message, "approve-prune") != (later > 0) {
			t.Errorf("after %v: %+v %v", later, result, err)
		}
	}
	s.Released = true
	if result, err := b.engine.Drain(t.Context(), b.permit(b.engine, s), s); err != nil || !result.Done || result.Deleted != 1 {
		t.Errorf("released: %+v %v", result, err)
	}
}

// TestPartThatIsLeftOutHoldsThePrune: a missing object may be in the left-out part.
// Runs of hooks belong to a revision and are removed with it.
func TestPartThatIsLeftOutHoldsThePrune(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	own := configMap("own", "v1")
	b.pass(s, own, configMap("one", "v1"))
	s.TarballDigest, s.LeftOut = "d2", []string{"web: the folder is a Helm chart", "k: a kustomization"}
	for range 2 {
		result := b.pass(s, own)
		if result.Sync != apply.SyncHeld || result.Reason != apply.ReasonLeftOut || result.Held != 1 || !strings.Contains(result.Message, "web: the folder is a Helm chart (and 1 more)") || b.uidOf(s.Namespace, "one") == "" {
			t.Fatalf("%+v", result)
		}
	}
	// Nothing leaves: nothing is held.
	if result := b.pass(s, own, configMap("one", "v1")); result.Phase != apply.PhaseApplied || result.Sync != apply.SyncSynced {
		t.Errorf("it is rendered again: %+v", result)
	}
	s.TarballDigest = "d3"
	b.pass(s, own)
	s.PruneApproval++
	if result := b.pass(s, own); result.Phase != apply.PhaseApplied || result.Pruned != 1 {
		t.Errorf("released: %+v", result)
	}
	s.TarballDigest = "d4"
	const hook = "annotations: {axle-cd.github.io/hook: PreSync}"
	b.pass(s, own, configMap("run-1", "v1", hook))
	s.TarballDigest = "d5"
	if result := b.pass(s, own, configMap("run-2", "v1", hook)); result.Phase != apply.PhaseApplied || b.uidOf(s.Namespace, "run-1") != "" {
		t.Errorf("an old run of a hook: %+v", result)
	}
}

// closed is a window that is never open.
func closed(t *testing.T) []syncwindow.Window {
	t.Helper()
	w, err := syncwindow.Parse(syncwindow.Spec{Kind: syncwindow.Deny, Schedule: "* * * * *", Duration: "1m"})
	if err != nil {
		t.Fatal(err)
	}
	return []syncwindow.Window{w}
}
