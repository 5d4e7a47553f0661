package expression_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/health/expression"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExpressions(t *testing.T) {
	source := expression.Source{
		Suspended: `has(spec.paused) && spec.paused`,
		Degraded:  `has(status.failed) && status.failed > 0`,
		Healthy:   `has(status.conditions) && status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
		Message:   `obj.kind + " " + string(status.?failed.orValue(0)) + " failed"`,
	}
	rule, err := expression.Compile("ns/cel", source)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]health.Result{
		"spec: {paused: true}": {Status: health.Suspended, Message: "Batch 0 failed"},
		"status: {failed: 2}":  {Status: health.Degraded, Message: "Batch 2 failed"},
		"status: {conditions: [{type: Ready, status: 'True'}]}":             {Status: health.Healthy, Message: "Batch 0 failed"},
		"status: {failed: 0, conditions: [{type: Ready, status: 'False'}]}": {Status: health.Progressing, Message: "Batch 0 failed"},
		"metadata: {name: a}": {Status: health.Progressing, Message: "Batch 0 failed"},
	} {
		if got := rule.Judge(object(t, "apiVersion: example.org/v1\nkind: Batch\n"+text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestExpressionsThatMisbehave(t *testing.T) {
	for name, test := range map[string]struct {
		source expression.Source
		want   string
	}{
		"nothing":      {expression.Source{}, "no expression"},
		"no CEL":       {expression.Source{Healthy: "status.("}, "healthy"},
		"a number":     {expression.Source{Healthy: "1 + 1"}, "int in place of bool"},
		"no text":      {expression.Source{Healthy: "true", Message: "1"}, "message"},
		"unknown name": {expression.Source{Degraded: "nowhere.x"}, "degraded"},
		"too long":     {expression.Source{Healthy: strings.Repeat("true && ", 3000) + "true"}, "bytes"},
	} {
		if _, err := expression.Compile("ns/cel", test.source); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "ns/cel") {
			t.Errorf("%s: %v", name, err)
		}
	}
	const list = `[0,1,2,3,4,5,6,7,8,9]`
	for name, test := range map[string]struct {
		source string
		want   string
	}{
		"a missing field": {`status.phase == "x"`, "phase"},
		"dear":            {list + `.all(a, ` + list + `.all(b, ` + list + `.all(c, ` + list + `.all(d, ` + list + `.all(e, ` + list + `.all(f, a+b+c+d+e+f >= 0))))))`, "operation "}, // by its cost, or by the clock of a slow machine
		"a text":          {`spec.word`, "true or false"},
	} {
		rule, err := expression.Compile("ns/cel", expression.Source{Healthy: test.source})
		if err != nil {
			t.Fatal(err)
		}
		got := rule.Judge(object(t, "apiVersion: x/v1\nkind: X\nspec: {word: some}"))
		if got.Status != health.Unknown || !strings.HasPrefix(got.Message, "rule ns/cel: expression healthy: ") || !strings.Contains(got.Message, test.want) {
			t.Errorf("%s: %+v, want %q", name, got, test.want)
		}
	}
}
