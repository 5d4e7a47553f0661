package prune

import (
	"testing"

	"github.com/axle-cd/axle/agent/apply/inventory"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func TestGuardDecidesByAnnotations(t *testing.T) {
	ours := kubeobj.Live{Service: "s", Tracked: true}
	for name, test := range map[string]struct {
		change func(*kubeobj.Live)
		absent bool
		want   Decision
	}{
		"ours":                  {want: Delete},
		"gone":                  {absent: true, want: Gone},
		"of another service":    {change: func(l *kubeobj.Live) { l.Service = "t" }, want: Forget},
		"copied annotations":    {change: func(l *kubeobj.Live) { l.Tracked = false }, want: Forget},
		"no annotations":        {change: func(l *kubeobj.Live) { *l = kubeobj.Live{Cluster: "c"} }, want: Forget},
		"of another tool's set": {change: func(l *kubeobj.Live) { l.ApplySet = "x" }, want: Forget},
		"being deleted":         {change: func(l *kubeobj.Live) { l.Deleting = true }, want: Wait},
	} {
		t.Run(name, func(t *testing.T) {
			live := ours
			if test.change != nil {
				test.change(&live)
			}
			if got := Guard("s", live, !test.absent); got != test.want {
				t.Errorf("decision %d, want %d", got, test.want)
			}
		})
	}
}

func TestWhatStaysWhilePruningIsOff(t *testing.T) {
	object, hook := inventory.Entry{}, inventory.Entry{Hook: inventory.HookRun{Runs: true}}
	for name, test := range map[string]struct {
		off, taken bool
		entry      inventory.Entry
		want       bool
	}{
		"pruning is on":               {false, false, object, false},
		"pruning is off":              {true, false, object, true},
		"another service takes it":    {true, true, object, false},
		"run of a hook":               {true, false, hook, false},
		"never pruned, pruning is on": {false, false, inventory.Entry{Prune: wave.PruneNever}, false},
		"never pruned":                {true, false, inventory.Entry{Prune: wave.PruneNever}, true},
		"always pruned":               {true, false, inventory.Entry{Prune: wave.PruneAlways}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Stays(test.off, test.taken, test.entry); got != test.want {
				t.Errorf("stays %v, want %v", got, test.want)
			}
		})
	}
}

func TestKindsThatAreNeverPruned(t *testing.T) {
	crd := inventory.Entry{Kind: kubeobj.Kind{Group: wave.CRDKind.Group, Version: "v1", Kind: wave.CRDKind.Kind, Resource: "customresourcedefinitions"},
		Ref: kubeobj.Ref{Group: wave.CRDKind.Group, Kind: wave.CRDKind.Kind, Name: "foos.example.org"}}
	i := &inventory.Inventory{Entries: map[kubeobj.Ref]inventory.Entry{crd.Ref: crd}}
	for name, test := range map[string]struct {
		entry inventory.Entry
		want  bool
	}{
		"ConfigMap":                {inventory.Entry{Kind: kubeobj.Kind{Kind: "ConfigMap", Resource: "configmaps"}}, true},
		"ConfigMap that says no":   {inventory.Entry{Kind: kubeobj.Kind{Kind: "ConfigMap"}, Prune: wave.PruneNever}, false},
		"Namespace":                {inventory.Entry{Kind: kubeobj.Kind{Kind: "Namespace"}}, false},
		"Namespace that says yes":  {inventory.Entry{Kind: kubeobj.Kind{Kind: "Namespace"}, Prune: wave.PruneAlways}, true},
		"claim":                    {inventory.Entry{Kind: kubeobj.Kind{Kind: "PersistentVolumeClaim"}}, false},
		"storage class":            {inventory.Entry{Kind: kubeobj.Kind{Group: "storage.k8s.io", Kind: "StorageClass"}}, false},
		"definition":               {crd, false},
		"object of its definition": {inventory.Entry{Kind: kubeobj.Kind{Group: "example.org", Kind: "Foo", Resource: "foos"}}, false},
		"object of another one":    {inventory.Entry{Kind: kubeobj.Kind{Group: "example.org", Kind: "Bar", Resource: "bars"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Prunable(i, test.entry); got != test.want {
				t.Errorf("prunable %v, want %v", got, test.want)
			}
		})
	}
}
