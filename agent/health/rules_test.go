package health_test

import (
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/health"
)

// says is a rule that always gives the same answer.
type says string

func (s says) Judge(*unstructured.Unstructured) health.Result {
	return health.Result{Status: health.Degraded, Message: string(s)}
}

func custom(name, group, version, kind string) health.Custom {
	return health.Custom{Name: name, Kind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, Rule: says(name)}
}

// TestTheOrderOfRules: exact kind, built-in kind, no kind, kstatus.
func TestTheOrderOfRules(t *testing.T) {
	const (
		thing = "apiVersion: example.org/v1\nkind: Thing\nstatus: {conditions: [{type: Ready, status: 'False', reason: BuildFailed, message: by kstatus}]}"
		claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Lost}"
		lost  = "the volume of the claim is lost"
		maps  = "apiVersion: v1\nkind: ConfigMap"
		gone  = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}"
	)
	exact, all := custom("exact", "example.org", "v1", "Thing"), custom("all versions", "example.org", "", "Thing")
	other, rest := custom("other version", "example.org", "v2", "Thing"), custom("rest", "", "", "")
	for name, test := range map[string]struct {
		rules  []health.Custom
		object string
		want   string
	}{
		"nothing but kstatus":            {nil, thing, "by kstatus"},
		"a rule for another version":     {[]health.Custom{other}, thing, "by kstatus"},
		"no kind before kstatus":         {[]health.Custom{other, rest}, thing, "rest"},
		"all versions before no kind":    {[]health.Custom{rest, all}, thing, "all versions"},
		"the version before all":         {[]health.Custom{rest, all, exact}, thing, "exact"},
		"built in":                       {nil, claim, lost},
		"built in before no kind":        {[]health.Custom{rest}, claim, lost},
		"exact before built in":          {[]health.Custom{rest, custom("mine", "", "v1", "PersistentVolumeClaim")}, claim, "mine"},
		"to exist, before no kind":       {[]health.Custom{rest}, maps, ""},
		"exact for a kind without state": {[]health.Custom{custom("mine", "", "v1", "ConfigMap")}, maps, "mine"},
		"deletion before all":            {[]health.Custom{exact, rest}, gone, "pending deletion"},
		"the first of two":               {[]health.Custom{exact, custom("second", "example.org", "v1", "Thing")}, thing, "exact"},
	} {
		t.Run(name, func(t *testing.T) {
			var rules health.Rules
			rules.Replace(test.rules)
			if got := rules.Of(object(t, test.object)); got.Message != test.want {
				t.Errorf("%+v, want %q", got, test.want)
			}
		})
	}
}

func TestRulesAreReplacedAtOnce(t *testing.T) {
	var rules health.Rules
	thing := object(t, "apiVersion: v1\nkind: ConfigMap")
	kind := schema.GroupKind{Kind: "ConfigMap"}
	if rules.HasRule(kind) || rules.Of(thing).Status != health.Healthy {
		t.Error("a zero value judges")
	}
	a, b := custom("a", "", "v1", "ConfigMap"), custom("b", "", "v1", "ConfigMap")
	if shadowed := rules.Replace([]health.Custom{a, b, custom("c", "", "", ""), custom("d", "", "", "")}); !slices.Equal(shadowed, []string{"b", "d"}) {
		t.Errorf("shadowed %v", shadowed)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 500 {
				if got := rules.Of(thing).Message; got != "a" && got != "b" {
					t.Errorf("judged by %q", got)
				}
			}
		})
	}
	for n := range 500 {
		rules.Replace([]health.Custom{[]health.Custom{a, b}[n%2]})
	}
	group.Wait()
	if !rules.HasRule(kind) {
		t.Error("the kind would not be read")
	}
	rules.Replace(nil)
	if rules.HasRule(kind) || rules.Of(thing).Status != health.Healthy {
		t.Error("a rule stayed")
	}
}
