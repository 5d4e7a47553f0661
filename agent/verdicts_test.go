package agent_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/bin"
)

// judging is a runner with its own programs, and the path of axle-render.
func judging(t *testing.T) (*render.Runner, string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "axle-render")
	for name, link := range map[string]string{"axle-render": binary, "axle-render-rare": render.Rare(binary)} {
		path, err := bin.Path(t.Context(), name, bin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
	}
	runner, err := render.New(render.Config{Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	return runner, binary
}

// TestLuaAndCELAgree gives both languages the same rules and objects.
func TestLuaAndCELAgree(t *testing.T) {
	runner, _ := judging(t)
	const phases = `local s = obj.status or {}
if s.phase == "Failed" then return {status = "Degraded", message = s.reason} end
if s.phase == "Running" then return {status = "Healthy", message = s.partitions .. " partitions"} end
return {status = "Progressing", message = ""}`
	byPhase := &health.Expressions{
		Failed: `has(status.phase) && status.phase == "Failed"`, Current: `has(status.phase) && status.phase == "Running"`,
		Message: `!has(status.phase) ? "" : status.phase == "Failed" ? status.reason : status.phase == "Running" ? string(status.partitions) + " partitions" : ""`,
	}
	const conditions = `if obj.spec and obj.spec.paused then return {status = "Paused"} end
for _, c in ipairs((obj.status or {}).conditions or {}) do
  if c.type == "Ready" and c.status == "True" then return {status = "Healthy"} end
  if c.type == "Ready" and c.status == "False" then return {status = "Degraded"} end
end
return {status = "Progressing"}`
	byConditions := &health.Expressions{
		Suspended: `spec.?paused.orValue(false)`,
		Failed:    `has(status.conditions) && status.conditions.exists(c, c.type == "Ready" && c.status == "False")`,
		Current:   `has(status.conditions) && status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
	}
	for name, test := range map[string]struct {
		lua    string
		cel    *health.Expressions
		object string
		want   health.Status
		// message is in both, for a rule that says something itself.
		message string
	}{
		"no status":            {phases, byPhase, "", health.Progressing, ""},
		"running":              {phases, byPhase, "status: {phase: Running, partitions: 3}", health.Healthy, "3 partitions"},
		"failed":               {phases, byPhase, "status: {phase: Failed, reason: no quota}", health.Degraded, "no quota"},
		"another word":         {phases, byPhase, "status: {phase: Moving}", health.Progressing, ""},
		"text for a number":    {phases, byPhase, "status: {phase: Running, partitions: three}", health.Healthy, "three partitions"},
		"a field is missing":   {phases, byPhase, "status: {phase: Running}", health.Unknown, "ns/"},
		"ready":                {conditions, byConditions, "status: {conditions: [{type: Other, status: 'False'}, {type: Ready, status: 'True'}]}", health.Healthy, ""},
		"not ready":            {conditions, byConditions, "status: {conditions: [{type: Ready, status: 'False'}]}", health.Degraded, ""},
		"not known":            {conditions, byConditions, "status: {conditions: [{type: Ready, status: Unknown}]}", health.Progressing, ""},
		"no conditions":        {conditions, byConditions, "status: {}", health.Progressing, ""},
		"paused":               {conditions, byConditions, "spec: {paused: true}\nstatus: {conditions: [{type: Ready, status: 'False'}]}", health.Suspended, ""},
		"an answer of no kind": {`return 1`, &health.Expressions{Current: "dyn(1)"}, "", health.Unknown, "ns/"},
		"an error":             {`return {status = obj.status.a.b}`, &health.Expressions{Current: "status.a.b"}, "", health.Unknown, "ns/"},
		"without end":          {`while true do end`, &health.Expressions{Current: strings.Repeat("[0,1,2,3,4,5,6,7,8,9].all(a, ", 7) + "true" + strings.Repeat(")", 7)}, "", health.Unknown, "ns/"},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := yaml.YAMLToJSON([]byte("apiVersion: example.org/v1\nkind: Thing\n" + test.object))
			if err != nil {
				t.Fatal(err)
			}
			script, err := health.CompileLua("ns/lua", test.lua)
			if err != nil {
				t.Fatal(err)
			}
			object := &unstructured.Unstructured{}
			if err := object.UnmarshalJSON(raw); err != nil {
				t.Fatal(err)
			}
			rule := *test.cel
			rule.Name = "ns/cel"
			judged, err := agent.Verdicts(runner).JudgeExpressions(t.Context(), &rule, [][]byte{raw})
			if err != nil {
				t.Fatal(err)
			}
			for language, got := range map[string]health.Result{"Lua": script.Judge(object), "CEL": judged[0]} {
				if got.Status != test.want || test.want != health.Unknown && got.Message != test.message || !strings.Contains(got.Message, test.message) {
					t.Errorf("%s says %+v, want %s: %q", language, got, test.want, test.message)
				}
			}
		})
	}
}

// TestHealthOfByExpressions tries rules in CEL from files, without a cluster.
func TestHealthOfByExpressions(t *testing.T) {
	_, binary := judging(t)
	dir := t.TempDir()
	file := write(t, dir, "queue.yaml", "apiVersion: example.org/v1\nkind: Queue\nspec: {limit: 30}\nstatus: {used: 31}\n")
	cel := write(t, dir, "queue.cel.yaml", "failed: status.used > spec.limit\ncurrent: 'true'\nmessage: string(status.used) + ' > ' + string(spec.limit)\n")
	rule := write(t, dir, "rule.yaml", string(documentedExpressions(t)))
	topic := write(t, dir, "topic.yaml", "apiVersion: streams.example.org/v1\nkind: Topic\nstatus: {phase: Failed, reason: no quota}\n")
	broken := write(t, dir, "broken.yaml", "current: status.\n")
	of := func(request agent.HealthRequest) (string, error) {
		request.Binary = binary
		var out bytes.Buffer
		err := agent.HealthOf(t.Context(), &out, nil, request)
		return strings.TrimSpace(out.String()), err
	}
	for name, test := range map[string]struct {
		request agent.HealthRequest
		want    string
	}{
		"expressions":          {agent.HealthRequest{File: file, CEL: cel}, `{"status":"Degraded","message":"31 > 30"}`},
		"a CustomHealth":       {agent.HealthRequest{File: topic, Rule: rule}, `{"status":"Degraded","message":"no quota"}`},
		"one of another kind":  {agent.HealthRequest{File: file, Rule: rule}, `{"status":"Healthy","message":""}`},
		"one that is a script": {agent.HealthRequest{File: topic, Rule: write(t, dir, "lua.yaml", string(exampleOf(t, "customhealth")))}, `{"status":"Degraded","message":"no quota"}`},
	} {
		if got, err := of(test.request); err != nil || got != test.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, test.want)
		}
	}
	if _, err := of(agent.HealthRequest{File: file, CEL: broken}); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "broken.yaml") || !strings.Contains(err.Error(), "line 1, column") {
		t.Errorf("%v for what does not compile", err)
	}
	if _, err := of(agent.HealthRequest{File: file, CEL: write(t, dir, "words.yaml", "healthy: 'true'\n")}); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "healthy") {
		t.Errorf("%v for an expression that is not known", err)
	}
	for name, request := range map[string]agent.HealthRequest{
		"two rules": {File: file, CEL: cel, Rule: rule}, "no file": {File: file, CEL: filepath.Join(dir, "none")}, "no rule": {File: file, Rule: filepath.Join(dir, "none")},
	} {
		if _, err := of(request); !errors.Is(err, agent.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
