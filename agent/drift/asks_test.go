package drift_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// child judges ConfigMaps as their data say, and fails as the test says.
type child struct {
	mu sync.Mutex
	// batches are the names of each batch, and the rule's expression.
	batches []string
	// most bounds the verdicts of one batch, when it is not zero.
	most int
	// gate holds each batch, when there is one.
	gate chan struct{}
	// fault is the error to fail with; the object named poison kills it.
	fault  error
	poison string
}

func (c *child) JudgeExpressions(ctx context.Context, rule *health.Expressions, objects [][]byte) ([]health.Result, error) {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var results []health.Result
	var names []string
	var fault error
	for _, raw := range objects {
		var object struct {
			Kind     string
			Metadata metav1.ObjectMeta
			Data     map[string]string
		}
		if err := json.Unmarshal(raw, &object); err != nil || object.Kind != "ConfigMap" {
			return nil, errcode.New(errcode.Internal, "%s is no object: %w", raw, err)
		}
		names = append(names, object.Metadata.Name)
		if object.Metadata.Name == c.poison {
			fault = errcode.New(errcode.Exhausted, "the child ended")
		}
		results = append(results, health.Result{Status: health.Degraded, Message: rule.Current + " of a=" + object.Data["a"]})
	}
	c.batches = append(c.batches, rule.Current+" "+strings.Join(names, ","))
	if c.fault != nil {
		return nil, c.fault
	}
	if fault != nil {
		return nil, fault
	}
	if c.most > 0 && len(results) > c.most {
		results = results[:c.most]
	}
	return results, nil
}

func (c *child) set(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

// asked counts how often an object was asked about.
func (c *child) asked(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, batch := range c.batches {
		if strings.Contains(batch, name) {
			n++
		}
	}
	return n
}

// asks is a watcher of ConfigMaps whose rule is in CEL.
type asks struct {
	*bed
	child   *child
	rules   health.Rules
	watcher *drift.Watcher
}

func newAsks(t *testing.T, expression string) *asks {
	t.Helper()
	cluster := kube.Shared(t)
	a := &asks{bed: newBed(t, cluster, cluster.Config()), child: &child{}}
	a.rule(expression)
	var err error
	a.watcher, err = drift.New(drift.Config{REST: a.rest, ClusterID: "c", Rules: &a.rules, Expressions: a.child})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *asks) start() {
	a.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.watcher.Run(a.t.Context(), a.owner)
	}()
	a.t.Cleanup(func() { <-done })
	a.watcher.Watch([]kubeobj.Kind{configMaps})
	a.watcher.Wait(a.t.Context(), []kubeobj.Kind{configMaps})
}

func (a *asks) rule(expression string) {
	a.rules.Replace([]health.Custom{{Name: "ns/mine", Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Rule: &health.Expressions{Name: "ns/mine", Current: expression}}})
	if a.watcher != nil {
		a.watcher.RulesChanged()
	}
}

// is waits until an object has a health and a message that begins so.
func (a *asks) is(ref kubeobj.Ref, want, message string) {
	a.t.Helper()
	eventually.For(a.t, time.Minute, ref.Name+" is "+want, func() error {
		live, found, synced := a.watcher.Lookup(configMaps, ref)
		if !found || !synced || live.Health != want || !strings.HasPrefix(live.Message, message) {
			return fmt.Errorf("found %v, synced %v, it is %q: %q", found, synced, live.Health, live.Message)
		}
		return nil
	})
}

func (a *asks) change(ref kubeobj.Ref, value string) {
	a.t.Helper()
	patch := fmt.Appendf(nil, `{"data":{"a":%q}}`, value)
	if _, err := a.admin.CoreV1().ConfigMaps(ref.Namespace).Patch(a.t.Context(), ref.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		a.t.Fatal(err)
	}
}

// TestVerdictsAreAskedFor follows objects of a kind with a CEL rule: the first
// verdicts are there when the watch is in sync, a change is judged once, another rule
// judges all again, and a rule in another language needs no child.
func TestVerdictsAreAskedFor(t *testing.T) {
	t.Parallel()
	a := newAsks(t, "one")
	refs := []kubeobj.Ref{a.make("ask-1"), a.make("ask-2"), a.make("ask-3")}
	a.child.most = 2 // the rest of a batch is asked again
	a.start()
	for _, ref := range refs {
		if live, _, synced := a.watcher.Lookup(configMaps, ref); !synced || live.Message != "one of a=b" {
			t.Errorf("%s is %q: %q, in sync %v", ref, live.Health, live.Message, synced)
		}
	}
	a.change(refs[0], "c")
	a.is(refs[0], "Degraded", "one of a=c")
	before := a.child.asked("ask-2")
	a.rules.Replace(append([]health.Custom{{Name: "ns/other", Kind: schema.GroupVersionKind{Version: "v2", Kind: "ConfigMap"}, Rule: &health.Expressions{Current: "true"}}},
		health.Custom{Name: "ns/mine", Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Rule: &health.Expressions{Name: "ns/mine", Current: "one"}}))
	a.watcher.RulesChanged()
	// The kind is read again, which a new object shows.
	refs = append(refs, a.make("ask-4"))
	a.is(refs[3], "Degraded", "one of a=b")
	if after := a.child.asked("ask-2"); after != before {
		t.Errorf("ask-2 was asked about %d times, then %d: it had not changed, and neither had its rule", before, after)
	}
	a.rule("two")
	for n, ref := range refs {
		a.is(ref, "Degraded", map[bool]string{true: "two of a=c", false: "two of a=b"}[n == 0])
	}
	script, err := health.CompileLua("ns/lua", `return {status = "Suspended", message = "lua"}`)
	if err != nil {
		t.Fatal(err)
	}
	a.rules.Replace([]health.Custom{{Name: "ns/lua", Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Rule: script}})
	a.watcher.RulesChanged()
	for _, ref := range refs {
		a.is(ref, "Suspended", "lua")
	}
}

// TestOneObjectAtFault: an object that kills the child is found among others, which
// get their verdicts; it is Unknown, and judged as soon as possible.
func TestOneObjectAtFault(t *testing.T) {
	t.Parallel()
	a := newAsks(t, "one")
	a.child.poison = "poison"
	var refs []kubeobj.Ref
	for n := range 5 {
		refs = append(refs, a.make(fmt.Sprintf("beside-%d", n)))
	}
	poison := a.make("poison")
	a.start()
	for _, ref := range refs {
		a.is(ref, "Degraded", "one of a=b")
	}
	a.is(poison, "Unknown", "rule ns/mine could not be evaluated: the child ended")
	a.child.set(func() { a.child.poison = "" })
	a.change(poison, "c")
	a.is(poison, "Degraded", "one of a=c")
}

// TestNobodyJudges: the known health stays for one failure; then it is Unknown with
// the reason, never the old value. It is judged when that is possible again.
func TestNobodyJudges(t *testing.T) {
	t.Parallel()
	a := newAsks(t, "one")
	ref, gone := a.make("without-1"), a.make("without-2")
	a.start()
	a.is(ref, "Degraded", "one of a=b")
	a.child.set(func() { a.child.fault = errcode.New(errcode.Unavailable, "there is no program") })
	a.change(ref, "c")
	a.change(gone, "c")
	a.is(ref, "Unknown", "rule ns/mine could not be evaluated: there is no program; retrying")
	a.delete(gone)
	a.child.set(func() { a.child.fault = nil })
	a.is(ref, "Degraded", "one of a=c")
	a.child.set(func() { a.child.fault = errcode.New(errcode.Invalid, "line 1 is wrong") })
	a.rule("wrong")
	a.is(ref, "Unknown", "line 1 is wrong")
}

// TestNobodyGoesOnByAnOldVerdict: an applied object is Progressing until its present
// version is judged, even if its watch reported it before the apply did; and nothing
// is asked about a kind that is no longer watched.
func TestNobodyGoesOnByAnOldVerdict(t *testing.T) {
	t.Parallel()
	a := newAsks(t, "one")
	ref := a.make("applied")
	a.start()
	a.is(ref, "Degraded", "one of a=b")
	gate := make(chan struct{})
	a.child.set(func() { a.child.gate = gate })
	body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{%q:"c"},"annotations":{%q:"s",%q:%q}},"data":{"a":"c"}}`,
		ref.Name, kubeobj.ManagedLabel, kubeobj.ServiceAnnotation, kubeobj.TrackingAnnotation, ref.Tracking())
	object, err := a.admin.CoreV1().ConfigMaps(ref.Namespace).Patch(t.Context(), ref.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: kubeobj.FieldManager})
	if err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the watch told", func() error {
		live, _, _ := a.watcher.Lookup(configMaps, ref)
		if live.ResourceVersion != object.ResourceVersion {
			return fmt.Errorf("it is of version %s", live.ResourceVersion)
		}
		return nil
	})
	a.is(ref, "Degraded", "one of a=b")
	a.watcher.Note(configMaps, ref, kubeobj.Reduce(ref, object))
	if live, _, _ := a.watcher.Lookup(configMaps, ref); live.Health != "Progressing" || live.Message != "it has just been applied" {
		t.Errorf("it is %q: %q by the verdict of what it was", live.Health, live.Message)
	}
	close(gate)
	a.is(ref, "Degraded", "one of a=c")
	a.watcher.Note(configMaps, ref, kubeobj.Reduce(ref, object))
	if live, _, _ := a.watcher.Lookup(configMaps, ref); live.Health != "Degraded" {
		t.Errorf("it is %q: %q although it was judged as it is", live.Health, live.Message)
	}

	a.child.set(func() { a.child.fault = errcode.New(errcode.Unavailable, "there is no program") })
	a.change(ref, "d")
	a.is(ref, "Unknown", "rule ns/mine could not be evaluated")
	a.watcher.Watch(nil)
	a.child.set(func() { a.child.fault = nil })
	before := a.child.asked(ref.Name)
	other := a.make("watched-again")
	a.watcher.Watch([]kubeobj.Kind{configMaps})
	a.is(other, "Degraded", "one of a=b")
	a.is(ref, "Degraded", "one of a=d")
	if after := a.child.asked(ref.Name); after > before+2 {
		t.Errorf("asked %d times about it since it was not watched", after-before)
	}
}
