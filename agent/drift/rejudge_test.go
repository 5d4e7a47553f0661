package drift_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// TestChangedRulesJudgeAtOnce: a first rule for a kind reads its objects whole and
// judges the existing ones; another rule judges them again; without a rule only their
// metadata is read again. Their health is known at every moment.
func TestChangedRulesJudgeAtOnce(t *testing.T) {
	t.Parallel()
	cluster := kube.Shared(t)
	b := newBed(t, cluster, cluster.Config())
	ref := b.make("judged")
	var rules health.Rules
	watcher, err := drift.New(drift.Config{REST: b.rest, ClusterID: "c", Rules: &rules})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = watcher.Run(t.Context(), b.owner)
	}()
	t.Cleanup(func() { <-done })
	watcher.Watch([]kubeobj.Kind{configMaps})
	watcher.Wait(t.Context(), []kubeobj.Kind{configMaps})
	is := func(want, message string) {
		t.Helper()
		eventually.For(t, time.Minute, "it is "+want, func() error {
			live, found, synced := watcher.Lookup(configMaps, ref)
			if !found || !synced {
				t.Errorf("it is not known: found %v, synced %v", found, synced)
			}
			if live.Health != want || live.Message != message {
				return fmt.Errorf("it is %q: %q", live.Health, live.Message)
			}
			return nil
		})
	}
	is("", "")
	rule := func(source string) {
		t.Helper()
		script, err := health.CompileLua("ns/mine", source)
		if err != nil {
			t.Fatal(err)
		}
		rules.Replace([]health.Custom{{Name: "ns/mine", Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Rule: script}})
		watcher.RulesChanged()
	}
	rule(`return {status = "Degraded", message = "a is " .. obj.data.a}`)
	is("Degraded", "a is b")
	rule(`return {status = "Suspended"}`)
	is("Suspended", "")
	rules.Replace(nil)
	watcher.RulesChanged()
	is("", "")
}
