package health_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
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

// TestScripts runs one script per kind, each in another manner of writing.
func TestScripts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script, object string
		want           health.Result
	}{
		"conditions by ipairs": {`
			local hs = {status = "Progressing", message = "waiting for a first condition"}
			if obj.status ~= nil and obj.status.conditions ~= nil then
			  for _, c in ipairs(obj.status.conditions) do
			    if c.type == "Ready" and c.status == "True" then
			      hs.status = "Healthy"
			    elseif c.type == "Ready" then
			      hs.status = "Degraded"
			    end
			    hs.message = c.message
			  end
			end
			return hs`,
			"apiVersion: pki.example.org/v1\nkind: Certificate\nstatus: {conditions: [{type: Ready, status: 'False', message: issuer is gone}]}",
			health.Result{Status: health.Degraded, Message: "issuer is gone"}},
		"generations compare as numbers": {`
			if obj.status.observedGeneration == nil or obj.status.observedGeneration < obj.metadata.generation then
			  return {status = "Progressing", message = "generation " .. obj.metadata.generation .. " is not seen"}
			end
			return {status = "Healthy"}`,
			"apiVersion: db.example.org/v1\nkind: Database\nmetadata: {generation: 12}\nstatus: {observedGeneration: 11}",
			health.Result{Status: health.Progressing, Message: "generation 12 is not seen"}},
		"phases by a table": {`
			local byPhase = {Running = "Healthy", Stopped = "Suspended", Broken = "Degraded"}
			local phase = (obj.status or {}).phase or "none"
			return {status = byPhase[phase] or "Unknown", message = string.format("%s: %d of %d", phase, obj.status.ready, #obj.spec.members)}`,
			"apiVersion: q.example.org/v1\nkind: Queue\nspec: {members: [a, b, c]}\nstatus: {phase: Stopped, ready: 2}",
			health.Result{Status: health.Suspended, Message: "Stopped: 2 of 3"}},
		"functions and recursion": {`
			local function count(node)
			  local n = 0
			  for _, child in pairs(node.children or {}) do n = n + 1 + count(child) end
			  return n
			end
			return {status = "Healthy", message = count(obj.spec) .. " nodes"}`,
			"apiVersion: t.example.org/v1\nkind: Tree\nspec: {children: [{children: [{}, {}]}, {}]}",
			health.Result{Status: health.Healthy, Message: "4 nodes"}},
		"a global result table": {`
			health_status = {}
			if obj.spec.suspend == true then
			  health_status.status = "Suspended"
			  health_status.message = "stopped by its owner"
			  return health_status
			end
			health_status.status = "Healthy"
			return health_status`,
			"apiVersion: w.example.org/v1\nkind: Workflow\nspec: {suspend: true}",
			health.Result{Status: health.Suspended, Message: "stopped by its owner"}},
		"patterns": {`
			local major, minor = string.match(obj.status.version, "^v(%d+)%.(%d+)")
			if tonumber(major) < 2 then return {status = "Degraded", message = "too old: " .. major .. "." .. minor} end
			return {status = "Healthy"}`,
			"apiVersion: m.example.org/v1\nkind: Mesh\nstatus: {version: v1.28.3}",
			health.Result{Status: health.Degraded, Message: "too old: 1.28"}},
		"lists joined": {`
			local bad = {}
			for i, shard in ipairs(obj.status.shards) do
			  if shard.state ~= "up" then table.insert(bad, shard.name) end
			end
			table.sort(bad)
			if #bad > 0 then return {status = "Degraded", message = table.concat(bad, ", ") .. " are down"} end
			return {status = "Healthy"}`,
			"apiVersion: s.example.org/v1\nkind: Store\nstatus: {shards: [{name: c, state: down}, {name: a, state: down}, {name: b, state: up}]}",
			health.Result{Status: health.Degraded, Message: "a, c are down"}},
		"protected calls": {`
			local ok, reason = pcall(function() return obj.status.inner.deep end)
			if not ok then return {status = "Progressing", message = "no status"} end
			return {status = "Healthy"}`,
			"apiVersion: p.example.org/v1\nkind: Plain\nstatus: {}",
			health.Result{Status: health.Progressing, Message: "no status"}},
		"labels and booleans": {`
			if obj.metadata.labels["example.org/ready"] == "yes" and not obj.spec.broken then
			  return {status = "Healthy", message = tostring(obj.spec.ratio)}
			end
			return {status = "Degraded"}`,
			"apiVersion: l.example.org/v1\nkind: Labelled\nmetadata: {labels: {example.org/ready: 'yes'}}\nspec: {broken: false, ratio: 0.5}",
			health.Result{Status: health.Healthy, Message: "0.5"}},
		"the clock": {`
			if os.time() > 1700000000 and string.sub(os.date("!%Y"), 1, 2) == "20" then return {status = "Healthy"} end
			return {status = "Unknown"}`,
			"apiVersion: c.example.org/v1\nkind: Clock", health.Result{Status: health.Healthy}},
		"counting replicas": {`
			local want, have = obj.spec.replicas or 1, (obj.status and obj.status.readyReplicas) or 0
			if have < want then
			  return {status = "Progressing", message = "Waiting for " .. (want - have) .. " of " .. want}
			end
			return {status = "Healthy", message = ""}`,
			"apiVersion: r.example.org/v1\nkind: Replicas\nspec: {replicas: 3}\nstatus: {readyReplicas: 1}",
			health.Result{Status: health.Progressing, Message: "Waiting for 2 of 3"}},
		"a null in a list": {`return {status = "Healthy", message = #obj.spec.list .. tostring(obj.spec.none) .. #obj.spec.empty}`,
			"apiVersion: n.example.org/v1\nkind: Nulls\nspec: {list: [a, null, b], none: null, empty: []}",
			health.Result{Status: health.Healthy, Message: "2nil0"}},
		"the result in a global": {`
			healthStatus = {status = "Unknown", message = "nothing yet"}
			if Obj.status ~= nil and statusConditionExists(Obj.status, "Ready") then
			  healthStatus = {status = "Progressing"}
			  if isStatusConditionTrue(Obj.status, "Ready") then healthStatus = {status = "Healthy", message = "ready"} end
			end`,
			"apiVersion: g.example.org/v1\nkind: Global\nstatus: {conditions: [{type: Ready, status: 'True'}]}",
			health.Result{Status: health.Healthy, Message: "ready"}},
		"the result in a global, capitals": {`
			healthStatus = {status = "Paused"}
			if isStatusConditionTrue(Obj.Status, "Ready") then healthStatus.status = "Healthy" end`,
			"apiVersion: g.example.org/v1\nkind: Global\nstatus: {conditions: [{type: Ready, status: 'False'}]}",
			health.Result{Status: health.Suspended}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := health.CompileLua("test", test.script)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := script.Judge(object(t, test.object)); got != test.want {
					t.Errorf("%+v, want %+v", got, test.want)
				}
			}
		})
	}
}

// TestScriptsThatMisbehave are Unknown, and name the script and the reason.
func TestScriptsThatMisbehave(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"loops":                     {`while true do end`, "500,000 instructions"},
		"loops and catches":         {`while true do pcall(function() while true do end end) end`, "500,000 instructions"},
		"calls itself":              {`local function f() return 1 + f() end return f()`, "overflow"},
		"doubles a text":            {`local s = "xxxxxxxx" for i = 1, 60 do s = s .. s end`, "too long"},
		"repeats a text":            {`local s = string.rep("x", 1000000000)`, "too long"},
		"repeats by method":         {`local s = ("x"):rep(1000000000)`, "too long"},
		"formats a wide text":       {`return string.format("%900000d", 1)`, "too long"},
		"joins a lot":               {`local t = {} for i = 1, 200 do t[i] = ("0123456789"):rep(40) end return table.concat(t)`, "too long"},
		"replaces by a lot":         {`return string.gsub(("x"):rep(60000), "x", ("y"):rep(60000))`, "too long"},
		"grows a table":             {`local t = {} for i = 1, 1000000 do t[i] = {i, i, i, i, i, i} end`, ""},
		"fills holes":               {`local t = {} for i = 1, 100000 do t[i] = {} t[i][4000] = 1 end`, "32 MiB"},
		"goes back for ever":        {`return string.find(("a"):rep(3000), "a*a*a*a*b")`, ""},
		"fails":                     {`error("no such thing")`, "no such thing"},
		"fails with a table":        {`error({})`, "table"},
		"reads nil":                 {`return obj.status.phase.deep`, "nil"},
		"returns nothing":           {``, "returned nil"},
		"returns a text":            {`return "Healthy"`, "returned string"},
		"returns an empty table":    {`return {}`, "status is nil"},
		"returns another word":      {`return {status = "Fine"}`, `"Fine" is not a valid status`},
		"returns a table as text":   {`return {status = "Healthy", message = {}}`, "message is table"},
		"returns through a trick":   {`return setmetatable({}, {__index = function() while true do end end})`, "status is nil"},
		"opens files":               {`return io.open("/etc/passwd")`, "nil"},
		"runs programs":             {`return os.execute("true")`, "non-function"},
		"reads the environment":     {`return os.getenv("HOME")`, "non-function"},
		"loads a module":            {`return require("os")`, "non-function"},
		"compiles text":             {`return loadstring("return 1")()`, "non-function"},
		"loads a file":              {`dofile("/etc/passwd")`, "non-function"},
		"prints":                    {`print("x")`, "non-function"},
		"concatenates a table":      {`return "a" .. {}`, "attempt to concatenate a table value"},
		"more values than there is": {`return unpack({}, 1, 100000000)`, "overflow"},
	} {
		t.Run(name, func(t *testing.T) {
			script, err := health.CompileLua("ns/mine", test.script)
			if err != nil {
				t.Fatal(err)
			}
			got := script.Judge(object(t, "apiVersion: x/v1\nkind: X\nstatus: {}"))
			if got.Status != health.Unknown || !strings.HasPrefix(got.Message, "script ns/mine: ") || !strings.Contains(got.Message, test.want) {
				t.Errorf("%+v, want %q", got, test.want)
			}
		})
	}
	for name, source := range map[string]string{"no script": "return {", "too long": strings.Repeat("-", 65<<10)} {
		if _, err := health.CompileLua("ns/mine", source); err == nil || !strings.Contains(err.Error(), "ns/mine") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScriptsLeaveNothingForTheNextRun(t *testing.T) {
	script, err := health.CompileLua("x", `
		obj.seen = (seen or 0) + 1
		seen = obj.seen
		string.format = nil
		healthStatus = {status = "Healthy", message = tostring(seen)}`)
	if err != nil {
		t.Fatal(err)
	}
	thing := object(t, "apiVersion: x/v1\nkind: X")
	for range 3 {
		if got := script.Judge(thing); got.Message != "1" {
			t.Errorf("%+v", got)
		}
	}
	if _, changed := thing.Object["seen"]; changed {
		t.Error("the script changed the object")
	}
}

// FuzzScriptResults: whatever a script answers, the verdict is one of the six
// words and a short valid text.
func FuzzScriptResults(f *testing.F) {
	for _, seed := range []string{`return {status="Healthy"}`, `return {status=obj.kind, message=obj}`, `return 1, 2`,
		`healthStatus = {status="\255", message=("\255"):rep(9999)}`, `return {status="Degraded", message=("ä"):rep(9999)}`} {
		f.Add(seed)
	}
	thing := object(f, "apiVersion: x/v1\nkind: X\nstatus: {conditions: [{type: Ready, status: 'True'}], n: 3}")
	f.Fuzz(func(t *testing.T, source string) {
		script, err := health.CompileLua("fuzz", source)
		if err != nil {
			return
		}
		got := script.Judge(thing)
		if health.Worst(got.Status, health.Healthy) != got.Status || !strings.Contains("Healthy Suspended Progressing Missing Unknown Degraded", string(got.Status)) {
			t.Errorf("%+v", got)
		}
		if len(got.Message) > 1024 || strings.ToValidUTF8(got.Message, "") != got.Message {
			t.Errorf("a message of %d bytes", len(got.Message))
		}
	})
}

func BenchmarkScript(b *testing.B) {
	script, err := health.CompileLua("x", `for _, c in ipairs(obj.status.conditions) do if c.type == "Ready" then return {status = "Healthy"} end end`)
	if err != nil {
		b.Fatal(err)
	}
	thing := object(b, "apiVersion: x/v1\nkind: X\nstatus: {conditions: [{type: Synced, status: 'True'}, {type: Ready, status: 'True'}]}")
	b.ReportAllocs()
	for b.Loop() {
		script.Judge(thing)
	}
}
