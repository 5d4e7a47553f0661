package apply_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/difference"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

// saysStays checks that the service is synced and that its status names what stays, and
// nothing else.
func saysStays(t *testing.T, when string, result apply.Result, names ...string) {
	t.Helper()
	said := ""
	for _, p := range result.Problems {
		if strings.Contains(p.Message, "pruning is off") {
			said += p.Message
		}
	}
	if result.Phase != apply.PhaseApplied || result.Sync != apply.SyncSynced || result.Again != 0 || result.Pruned != 0 || result.Held != len(names) || strings.Count(said, "ConfigMap ") != len(names) {
		t.Errorf("%s: %+v", when, result)
	}
	for _, name := range names {
		if !strings.Contains(said, "/"+name) {
			t.Errorf("%s: %q does not name %s", when, said, name)
		}
	}
}

// TestPruneOffKeepsWhatIsNoLongerRendered until pruning is on again: then the next pass
// deletes it, within the prune limit.
func TestPruneOffKeepsWhatIsNoLongerRendered(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	b.pass(s, maps(10)...)
	s.TarballDigest, s.PruneOff = "d2", true
	docs := maps(10)[:2]
	kept := []string{"m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"}
	saysStays(t, "at first", b.pass(s, docs...), kept...)
	mark := b.mark()
	saysStays(t, "a second pass", b.pass(s, docs...), kept...)
	if all := b.requests(mark); len(all) > 0 {
		t.Errorf("a pass over what stays sends %s %s", all[0].Verb, all[0].URI)
	}
	differences, _ := diffOf(t, b, s, docs...)
	if d := differences["m2"]; len(differences) != 8 || d.Action != difference.Leave || d.Live == "" || d.Live != d.Desired || !strings.Contains(d.Message, "syncConfig.prune") {
		t.Errorf("the diff: %+v", differences)
	}
	b.engine = b.restart(nil)
	if state, _ := b.engine.State(s.ID); state.Objects != 10 || state.TarballDigest != "d2" {
		t.Errorf("the inventory: %+v", state)
	}
	// What a person deletes, and what is rendered again, no longer stays.
	if err := b.admin.CoreV1().ConfigMaps(s.Namespace).Delete(t.Context(), "m9", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	saysStays(t, "after a restart", b.pass(s, maps(10)[:3]...), kept[1:7]...)

	// A pass that cannot see everything does not conclude that something is gone.
	s.Partial = "discovery is not whole"
	if result := b.pass(s, docs...); result.Held != 7 || b.count(s.Namespace) != 9 {
		t.Errorf("a partial pass: %+v", result)
	}
	s.Partial, s.PruneOff = "", false
	if result := b.pass(s, docs...); result.Reason != apply.ReasonPruneHeld || b.count(s.Namespace) != 9 {
		t.Errorf("on again, above the limit: %+v", result)
	}
	s.PruneApproval++
	if result := b.pass(s, docs...); result.Phase != apply.PhaseApplied || result.Pruned != 7 || len(result.Problems) != 0 || b.count(s.Namespace) != 2 {
		t.Errorf("approved: %+v", result)
	}
}

// An approval that is given while pruning is off approves nothing later.
func TestApprovalWhilePruneIsOffIsUsedUp(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	b.pass(s, maps(12)...)
	s.TarballDigest = "d2"
	if result := b.pass(s, maps(2)...); result.Reason != apply.ReasonPruneHeld {
		t.Fatalf("%+v", result)
	}
	s.PruneOff, s.PruneApproval = true, s.PruneApproval+1
	if result := b.pass(s, maps(2)...); result.Sync != apply.SyncSynced || result.Held != 10 {
		t.Errorf("off: %+v", result)
	}
	s.PruneOff = false
	if result := b.pass(s, maps(2)...); result.Reason != apply.ReasonPruneHeld || b.count(s.Namespace) != 12 {
		t.Errorf("on again: %+v", result)
	}
}

// TestPruneOffConcernsThePruneAlone: hooks, objects that move, replacements and the
// deletion of the service go as ever.
func TestPruneOffConcernsThePruneAlone(t *testing.T) {
	b := newBed(t, nil)
	const hook = "annotations: {axle-cd.github.io/hook: PreSync}"
	t.Run("hook", func(t *testing.T) {
		s := newService("d1")
		s.PruneOff = true
		b.pass(s, maps(1)[0], configMap("run-1", "v1", hook))
		s.TarballDigest = "d2"
		if result := b.pass(s, maps(1)[0], configMap("run-2", "v1", hook)); result.Phase != apply.PhaseApplied || result.Pruned != 1 || b.uidOf(s.Namespace, "run-1") != "" {
			t.Errorf("an old run: %+v", result)
		}
	})
	t.Run("handover", func(t *testing.T) {
		from, to := newService("d1"), newService("d1")
		from.PruneOff, to.Namespace = true, from.Namespace
		b.pass(from, maps(3)...)
		first, second := b.uidOf(from.Namespace, "m1"), b.uidOf(from.Namespace, "m2")
		// The heir comes first for one, the loser for the other.
		b.pass(to, maps(3)[1])
		from.TarballDigest = "d2"
		saysStays(t, "the loser", b.pass(from, maps(1)...), "m2")
		if result := b.pass(to, maps(3)[1:]...); result.Phase != apply.PhaseApplied {
			t.Errorf("the heir: %+v", result)
		}
		saysStays(t, "the loser again", b.pass(from, maps(1)...))
		if b.uidOf(from.Namespace, "m1") != first || b.uidOf(from.Namespace, "m2") != second || b.ownerOf(from.Namespace, "m1") != to.ID || b.ownerOf(from.Namespace, "m2") != to.ID {
			t.Error("an object was deleted, or is not the heir's")
		}
	})
	t.Run("replacement", func(t *testing.T) {
		s := newService("d1")
		s.PruneOff = true
		doc := func(value string) string {
			return configMap("m", value, `annotations: {axle-cd.github.io/recreate: "true"}`) + "immutable: true\n"
		}
		b.pass(s, doc("v1"))
		before := b.uidOf(s.Namespace, "m")
		s.TarballDigest = "d2"
		saysStays(t, "replaced", b.pass(s, doc("v2")))
		if after := b.uidOf(s.Namespace, "m"); after == before || after == "" {
			t.Errorf("%q became %q", before, after)
		}
	})
	t.Run("deletion", func(t *testing.T) {
		s := newService("d1")
		s.PruneOff = true
		b.pass(s, maps(3)...)
		s.TarballDigest = "d2"
		saysStays(t, "before", b.pass(s, maps(1)...), "m1", "m2")
		if result, err := b.engine.Drain(t.Context(), b.permit(b.engine, s), s); err != nil || !result.Done || result.Deleted != 3 || b.count(s.Namespace) != 0 {
			t.Errorf("%+v %v", result, err)
		}
	})
}

// A status names a bounded number of what stays.
func TestStatusNamesTenOfWhatStays(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	s.PruneOff = true
	b.pass(s, maps(14)...)
	s.TarballDigest = "d2"
	result := b.pass(s, maps(1)...)
	if result.Held != 13 || len(result.Problems) != 1 || !result.Problems[0].Warning || strings.Count(result.Problems[0].Message, "ConfigMap ") != 10 || !strings.HasSuffix(result.Problems[0].Message, " (and 3 more)") {
		t.Errorf("%+v", result)
	}
}

func TestUnsetPruneIsTrue(t *testing.T) {
	on, off := true, false
	for name, test := range map[string]struct {
		config *specv1.SyncConfig
		want   bool
	}{"none": {nil, false}, "unset": {&specv1.SyncConfig{}, false}, "true": {&specv1.SyncConfig{Prune: &on}, false}, "false": {&specv1.SyncConfig{Prune: &off}, true}} {
		if got := apply.FromSpec(agentv1.Deliver(specv1.Spec{SyncConfig: test.config}), ""); got.PruneOff != test.want {
			t.Errorf("%s: off is %v", name, got.PruneOff)
		}
	}
}
