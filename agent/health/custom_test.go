package health_test

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/api/v1alpha1"
)

func written(namespace, name, group, version, kind, script string) v1alpha1.CustomHealth {
	return v1alpha1.CustomHealth{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.CustomHealthSpec{Group: group, Version: version, Kind: kind, Script: script}}
}

func TestRulesFromObjects(t *testing.T) {
	const fine = `return {status = "Healthy", message = "%s"}`
	script := func(name string) string { return strings.Replace(fine, "%s", name, 1) }
	list, problems := health.FromObjects([]v1alpha1.CustomHealth{
		written("z", "second", "example.org", "v1", "Thing", script("second")),
		written("a", "first", "example.org", "v1", "Thing", script("first")),
		written("a", "rest", "", "", "", script("rest")),
		written("a", "no-kind", "example.org", "v1", "", script("x")),
		written("a", "broken", "", "v1", "Pod", "return {"),
		written("a", "empty", "", "v1", "Pod", ""),
	})
	var rules health.Rules
	shadowed := rules.Replace(list)
	if len(shadowed) != 1 || shadowed[0] != "z/second" {
		t.Errorf("shadowed %v", shadowed)
	}
	if got := rules.Of(object(t, "apiVersion: example.org/v1\nkind: Thing")); got.Message != "first" {
		t.Errorf("%+v", got)
	}
	if got := rules.Of(object(t, "apiVersion: example.org/v1\nkind: Other")); got.Message != "rest" {
		t.Errorf("%+v", got)
	}
	var texts []string
	for _, problem := range problems {
		texts = append(texts, problem.Error())
	}
	all := strings.Join(texts, "\n")
	for _, name := range []string{"a/no-kind", "a/broken", "a/empty"} {
		if !strings.Contains(all, name) {
			t.Errorf("%s is not named: %s", name, all)
		}
	}
}

// TestTheExampleOfTheSpecification judges by the documented object.
func TestTheExampleOfTheSpecification(t *testing.T) {
	text, err := os.ReadFile("../../examples/kinds/customhealth.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rule v1alpha1.CustomHealth
	if err := yaml.UnmarshalStrict(text, &rule); err != nil {
		t.Fatal(err)
	}
	list, problems := health.FromObjects([]v1alpha1.CustomHealth{rule})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var rules health.Rules
	rules.Replace(list)
	for status, want := range map[string]health.Result{
		"{}":                                {Status: health.Progressing, Message: "waiting for the broker"},
		"{phase: Running, partitions: 3}":   {Status: health.Healthy, Message: "3 partitions"},
		"{phase: Failed, reason: no quota}": {Status: health.Degraded, Message: "no quota"},
	} {
		if got := rules.Of(object(t, "apiVersion: streams.example.org/v1\nkind: Topic\nstatus: "+status)); got != want {
			t.Errorf("%s: %+v, want %+v", status, got, want)
		}
	}
}

// TestExpressionsAreForTheChild: a rule in CEL takes its place in the order of
// rules, is never Healthy here, and is another rule when a word of it is.
func TestExpressionsAreForTheChild(t *testing.T) {
	one := written("a", "cel", "example.org", "v1", "Thing", "")
	one.Spec.Expressions = &v1alpha1.CustomHealthExpressions{Current: "true"}
	both := written("a", "both", "example.org", "v1", "Both", "return {}")
	both.Spec.Expressions = one.Spec.Expressions
	never := written("a", "never", "example.org", "v1", "Never", "")
	never.Spec.Expressions = &v1alpha1.CustomHealthExpressions{Failed: "true"}
	rest := written("a", "rest", "", "", "", "")
	rest.Spec.Expressions = &v1alpha1.CustomHealthExpressions{Current: "false"}
	list, problems := health.FromObjects([]v1alpha1.CustomHealth{one, both, never, rest, written("a", "lua", "example.org", "v1", "Scripted", "return {}")})
	for name, want := range map[string]string{"a/both": "one of them", "a/never": "expression current"} {
		if err := problems[name]; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	var rules health.Rules
	rules.Replace(list)
	kind := func(group, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	}
	for name, test := range map[string]struct {
		kind schema.GroupVersionKind
		want string
	}{
		"its own kind":        {kind("example.org", "Thing"), "a/cel"},
		"any kind":            {kind("example.org", "Other"), "a/rest"},
		"a kind with Lua":     {kind("example.org", "Scripted"), ""},
		"a built-in kind":     {kind("apps", "Deployment"), ""},
		"a kind without rule": {kind("", "ConfigMap"), ""},
	} {
		found := rules.Expressions(test.kind)
		if (found == nil) != (test.want == "") || found != nil && found.Name != test.want {
			t.Errorf("%s: %+v, want %q", name, found, test.want)
		}
	}
	if got := rules.Of(object(t, "apiVersion: example.org/v1\nkind: Thing")); got.Status != health.Unknown || !strings.Contains(got.Message, "a/cel") {
		t.Errorf("%+v", got)
	}
	a, b := health.Expressions{Name: "n", Current: "true"}, health.Expressions{Name: "n", Failed: "true"}
	if again := a; a.Digest() != again.Digest() || a.Digest() == b.Digest() {
		t.Error("digests do not tell rules apart")
	}
	if (*health.Rules)(nil).Expressions(kind("example.org", "Thing")) != nil {
		t.Error("no rules have one")
	}
}
