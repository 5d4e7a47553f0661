package expression_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/render/expression"
)

// judge judges one object, written as YAML, by a rule.
func judge(t *testing.T, source *renderv1.Expressions, object string) *renderv1.Verdict {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte("apiVersion: example.org/v1\nkind: Batch\n" + object))
	if err != nil {
		t.Fatal(err)
	}
	answer := expression.Batch(&renderv1.Judge{Rule: "ns/cel", Expressions: source, Objects: [][]byte{raw}})
	if answer.GetFailure() != nil || len(answer.GetVerdicts()) != 1 {
		t.Fatalf("%v", answer)
	}
	return answer.GetVerdicts()[0]
}

func TestExpressions(t *testing.T) {
	source := &renderv1.Expressions{
		Suspended:  `has(spec.paused) && spec.paused`,
		InProgress: `has(status.phase) && status.phase == "Moving"`,
		Failed:     `has(status.failed) && status.failed > 0`,
		Current:    `has(status.conditions) && status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
		Message:    `kind + " " + string(status.?failed.orValue(0)) + " failed"`,
	}
	for object, want := range map[string]string{
		"spec: {paused: true}\nstatus: {failed: 1}":                                        "Suspended: Batch 1 failed",
		"status: {failed: 2, phase: Moving}":                                               "Progressing: Batch 2 failed",
		"status: {failed: 2}":                                                              "Degraded: Batch 2 failed",
		"status: {conditions: [{type: Ready, status: 'True'}]}":                            "Healthy: Batch 0 failed",
		"status: {conditions: [{type: Ready, status: 'False'}]}":                           "Progressing: Batch 0 failed",
		"metadata: {name: a}":                                                              "Progressing: Batch 0 failed",
		"metadata: {generation: 3}\nstatus: {failed: 2, observedGeneration: 2}":            "Progressing: Batch 2 failed",
		"metadata: {generation: 3}\nstatus: {failed: 2, observedGeneration: 3}":            "Degraded: Batch 2 failed",
		"metadata: {generation: 3}\nspec: {paused: true}\nstatus: {observedGeneration: 2}": "Suspended: Batch 0 failed",
	} {
		if got := judge(t, source, object); got.GetStatus()+": "+got.GetMessage() != want {
			t.Errorf("%s: %v, want %s", object, got, want)
		}
	}
}

// TestTheDocumentedExpressions compiles and evaluates the documentation's examples.
func TestTheDocumentedExpressions(t *testing.T) {
	text, err := os.ReadFile("../../docs/health.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Expressions\n")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	raw, err := yaml.YAMLToJSON([]byte(example))
	if err != nil || !found {
		t.Fatalf("%v, found %v", err, found)
	}
	source := &renderv1.Expressions{}
	if err := protojson.Unmarshal(raw, source); err != nil {
		t.Fatal(err)
	}
	for object, want := range map[string]string{
		"spec: {paused: true}": "Suspended", "status: {phase: Moving, failed: 1}": "Progressing", "status: {failed: 1}": "Degraded",
		"status: {conditions: [{type: Ready, status: 'True'}]}": "Healthy", "status: {}": "Progressing",
	} {
		if got := judge(t, source, object); got.GetStatus() != want {
			t.Errorf("%s: %v, want %s", object, got, want)
		}
	}
}

// TestExpressionsOfFlux are written as Flux's documentation does, and know the
// parts of an object by their names.
func TestExpressionsOfFlux(t *testing.T) {
	source := &renderv1.Expressions{
		InProgress: "!has(status.conditions)",
		Failed:     "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'False')",
		Current:    "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True') && data.key == 'v' && apiVersion == obj.apiVersion",
	}
	for object, want := range map[string]string{
		"data: {key: v}": "Progressing",
		"data: {key: v}\nstatus: {conditions: [{type: Ready, status: 'True'}]}":    "Healthy",
		"data: {key: v}\nstatus: {conditions: [{type: Ready, status: 'False'}]}":   "Degraded",
		"data: {key: v}\nstatus: {conditions: [{type: Ready, status: 'Unknown'}]}": "Progressing",
	} {
		if got := judge(t, source, object); got.GetStatus() != want {
			t.Errorf("%s: %v, want %s", object, got, want)
		}
	}
}

func TestRulesThatDoNotCompile(t *testing.T) {
	for name, test := range map[string]struct {
		source *renderv1.Expressions
		want   string
	}{
		"nothing":      {&renderv1.Expressions{}, "no expression current"},
		"no current":   {&renderv1.Expressions{Failed: "true"}, "no expression current"},
		"no CEL":       {&renderv1.Expressions{Current: "true &&\n  status.("}, "expression current of rule ns/cel does not compile: line 2, column 10: "},
		"a number":     {&renderv1.Expressions{Current: "1 + 1"}, "int instead of bool"},
		"no text":      {&renderv1.Expressions{Current: "true", Message: "1"}, "message"},
		"unknown name": {&renderv1.Expressions{Current: "true", Failed: "nowhere.x"}, "expression failed of rule ns/cel does not compile: line 1, column 1: undeclared reference to 'nowhere'"},
		"types":        {&renderv1.Expressions{Current: "kind == 1"}, "line 1, column 6"},
		"too long":     {&renderv1.Expressions{Current: strings.Repeat("true && ", 3000) + "true"}, "bytes"},
		"too deep":     {&renderv1.Expressions{Current: strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000)}, "does not compile"},
	} {
		answer := expression.Batch(&renderv1.Judge{Rule: "ns/cel", Expressions: test.source, Objects: [][]byte{[]byte("{}")}})
		if text := answer.GetFailure().GetMessage(); !strings.Contains(text, test.want) || !strings.Contains(text, "ns/cel") || len(answer.GetVerdicts()) > 0 {
			t.Errorf("%s: %v, want %q", name, answer, test.want)
		}
	}
}

func TestRulesThatFail(t *testing.T) {
	const list = `[0,1,2,3,4,5,6,7,8,9]`
	for name, test := range map[string]struct {
		current, message string
		want             string
	}{
		"a missing field": {`status.phase == "x"`, "", "expression current: no such key: phase"},
		// By its cost, or by the clock of a slow machine.
		"dear":               {list + `.all(a, ` + list + `.all(b, ` + list + `.all(c, ` + list + `.all(d, ` + list + `.all(e, ` + list + `.all(f, a+b+c+d+e+f >= 0))))))`, "", "expression current: operation "},
		"a text":             {`spec.word`, "", "true or false"},
		"a message of parts": {`true`, `dyn(spec)`, "expression message: the result is not a string"},
		"a message of none":  {`true`, `spec.none`, "expression message: no such key: none"},
	} {
		got := judge(t, &renderv1.Expressions{Current: test.current, Message: test.message}, "spec: {word: some}")
		if got.GetStatus() != "Unknown" || !strings.HasPrefix(got.GetMessage(), "rule ns/cel: ") || !strings.Contains(got.GetMessage(), test.want) {
			t.Errorf("%s: %v, want %q", name, got, test.want)
		}
	}
	answer := expression.Batch(&renderv1.Judge{Rule: "ns/cel", Expressions: &renderv1.Expressions{Current: "true"}, Objects: [][]byte{[]byte("[]"), []byte("{}")}})
	if got := answer.GetVerdicts(); len(got) != 2 || got[0].GetStatus() != "Unknown" || got[1].GetStatus() != "Healthy" {
		t.Errorf("%v, want one that cannot be read and one that is well", got)
	}
}

// TestMessagesAreCut: a message may be a number, and is at most 1,024 bytes long.
func TestMessagesAreCut(t *testing.T) {
	source := &renderv1.Expressions{Current: "true", Message: "spec.words"}
	if got := judge(t, source, "spec: {words: "+strings.Repeat("é", 2000)+"}").GetMessage(); len(got) > 1024 || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes", len(got))
	}
	if got := judge(t, source, "spec: {words: 12}").GetMessage(); got != "12" {
		t.Errorf("%q", got)
	}
}

// FuzzCompile: whatever a user writes compiles or says where it does not, and
// judges without a crash.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"true", "status.(", "obj.a.b == 1", "[1,2].all(x, x > 0)", "'\\u00e9' + kind", "has(spec.x) ? spec.x : false", "optional.none()", "b'\\xff'", "\x00", "1 in {1: 2}"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, current, message string) {
		rule, err := expression.Compile("ns/fuzz", &renderv1.Expressions{Current: current, Message: message})
		if err != nil {
			if !strings.Contains(err.Error(), "ns/fuzz") {
				t.Errorf("%v does not name the rule", err)
			}
			return
		}
		got := rule.Judge(map[string]any{"apiVersion": "v1", "kind": "X", "spec": map[string]any{"x": int64(1)}})
		if got.GetStatus() == "Unknown" && !strings.HasPrefix(got.GetMessage(), "rule ns/fuzz: ") {
			t.Errorf("%v does not name the rule", got)
		}
	})
}

// BenchmarkBatch judges 100 objects of about 5 KB by the rule that most write.
func BenchmarkBatch(b *testing.B) {
	var objects [][]byte
	for n := range 100 {
		objects = append(objects, fmt.Appendf(nil, `{"apiVersion":"example.org/v1","kind":"Batch","metadata":{"name":"b-%d","annotations":{"a":%q}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, n, strings.Repeat("x", 5000)))
	}
	asked := &renderv1.Judge{Rule: "ns/cel", Objects: objects, Expressions: &renderv1.Expressions{
		Current: `has(status.conditions) && status.conditions.exists(c, c.type == "Ready" && c.status == "True")`}}
	for b.Loop() {
		if answer := expression.Batch(asked); len(answer.GetVerdicts()) != 100 {
			b.Fatal(answer.GetFailure())
		}
	}
}
