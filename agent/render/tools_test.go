package render_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/render/rendertest"
)

// rareRunner has the program with all renderers, and tools.
func rareRunner(t *testing.T, config render.Config) *render.Runner {
	t.Helper()
	rendertest.Rare(t)
	return newRunner(t, config)
}

// toolbox is a folder with the printer, scripts, and files that they must not see.
func toolbox(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	copyFile(t, rendertest.Printer(t, ""), filepath.Join(dir, "printer"))
	for name, script := range map[string]string{
		"many":  "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do sleep 600 & done; done; wait\n",
		"stay":  "#!/bin/sh\ncat > where <<E\n$$\nE\nsetsid sleep 600.25 >/dev/null 2>&1 &\nsleep 600.25 >/dev/null 2>&1 &\necho 'apiVersion: v1'; echo 'kind: ConfigMap'; echo 'metadata: {name: stay}'\n",
		"mixed": "#!/bin/sh\necho 'apiVersion: v1'; echo 'kind: Secret'; echo 'metadata: {name: made}'; echo \"stringData: {random: \\\"$(head -c 9 /dev/urandom | base64)\\\", same: a}\"\n",
		"plain": "#!/bin/sh\necho 'kind: ['\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}

// execPass runs a tool over one manifest.
func execPass(t *testing.T, tool string, parameters ...string) render.Pass {
	t.Helper()
	p := render.Pass{
		Project: "p", Name: "web", Namespace: "shop", Entry: "app", Configuration: map[string]string{"color": "green"},
		Folder: folder(t, map[string]string{"app/a.yaml": good, "other/b.yaml": good}),
		Steps:  []render.Step{{Type: "EXEC", Tool: tool, Parameters: map[string]string{}}},
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		p.Steps[0].Parameters[parameters[i]] = parameters[i+1]
	}
	return p
}

// data is the data of the last rendered object.
func data(t *testing.T, result render.Result) map[string]string {
	t.Helper()
	var object struct {
		Data map[string]string `json:"data"`
	}
	if len(result.Objects) == 0 {
		t.Fatal("nothing was rendered")
	}
	if err := json.Unmarshal(result.Objects[len(result.Objects)-1].JSON, &object); err != nil {
		t.Fatal(err)
	}
	return object.Data
}

// TestToolReachesNothing: forbidden operations of a tool fail, and those it needs
// work. The socket, the foreign file and the foreign folder would be reachable
// through a hole in the jail.
func TestToolReachesNothing(t *testing.T) {
	outside := folder(t, map[string]string{"secret": "x"})
	box := toolbox(t)
	work := t.TempDir()
	runner := newRunner(t, render.Config{Tools: box, Work: work})
	const refused = "permission denied"
	for name, test := range map[string]struct {
		parameters []string
		want       string
	}{
		"socket":              {[]string{"do", "socket"}, "operation not permitted"},
		"its file":            {[]string{"do", "read", "path", "a.yaml"}, "worked"},
		"a file of the files": {[]string{"do", "read", "path", "../other/b.yaml"}, "worked"},
		"a foreign file":      {[]string{"do", "read", "path", filepath.Join(outside, "secret")}, refused},
		"passwords":           {[]string{"do", "read", "path", "/etc/passwd"}, refused},
		"own environment":     {[]string{"do", "read", "path", "/proc/self/environ"}, refused},
		"token":               {[]string{"do", "read", "path", "/var/run/secrets/kubernetes.io/serviceaccount/token"}, "no such file or directory"},
		"write":               {[]string{"do", "write", "path", "new.yaml"}, "worked"},
		"write elsewhere":     {[]string{"do", "write", "path", filepath.Join(outside, "new")}, refused},
		"write a tool":        {[]string{"do", "write", "path", filepath.Join(box, "new")}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := runner.Render(patient(t), execPass(t, "printer", test.parameters...))
			if err != nil {
				t.Fatal(err)
			}
			got := data(t, result)["outcome"]
			// If there is no such file at all, either answer is a refusal.
			if !strings.HasSuffix(got, test.want) && !(name == "token" && strings.HasSuffix(got, refused)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("%d private folders are left, %v", len(left), err)
	}
}

func TestToolEnvironment(t *testing.T) {
	box := toolbox(t)
	t.Setenv("AXLE_CANARY", "of the agent")
	result, err := newRunner(t, render.Config{Tools: box}).Render(patient(t), execPass(t, "printer", "do", "environment"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pair := range strings.Fields(data(t, result)["outcome"]) {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"HOME", "LANG", "PATH", "TMPDIR", "TZ"}, names); diff != "" {
		t.Errorf("the environment (-want +got):\n%s", diff)
	}
}

func TestToolLimits(t *testing.T) {
	box := toolbox(t)
	tests := map[string]struct {
		tool       string
		parameters []string
		timeout    time.Duration
		want       string
	}{
		"loops":           {tool: "printer", parameters: []string{"do", "loop"}, timeout: 2 * time.Second, want: "rendering took longer than 2s"},
		"grows":           {tool: "printer", parameters: []string{"do", "grow"}, want: `the tool "printer": it `},
		"prints":          {tool: "printer", parameters: []string{"do", "flood"}, want: "printed more than 16777216 bytes"},
		"many processes":  {tool: "many", want: "more than 64 processes"},
		"not a manifest":  {tool: "plain", want: "app (tool plain): line 1 of its output: invalid YAML"},
		"unknown":         {tool: "none", want: `no tool "none" for a renderer of type EXEC; it has many, mixed, plain, printer, stay;`},
		"a module's name": {tool: "printer.wasm", want: `no tool "printer.wasm"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runner := newRunner(t, render.Config{Tools: box, Timeout: test.timeout})
			_, err := runner.Render(patient(t), execPass(t, test.tool, test.parameters...))
			if err == nil || !strings.Contains(err.Error(), test.want) || errcode.Of(err) == errcode.Internal {
				t.Errorf("got %q (%s), want %q", err, errcode.Of(err), test.want)
			}
			works(t, newRunner(t, render.Config{}))
		})
	}
	t.Run("none", func(t *testing.T) {
		_, err := newRunner(t, render.Config{}).Render(patient(t), execPass(t, "kcl"))
		if err == nil || !strings.Contains(err.Error(), "it has none; its administrator puts them into the folder of --tools-dir") {
			t.Errorf("got %v", err)
		}
	})
}

// Where a tools.yaml says what there is, a file in the folder is not enough.
func TestToolsThatAreDeclaredSayWhere(t *testing.T) {
	box := t.TempDir()
	for name, text := range map[string]string{"tools.yaml": "tools: {}\n", "kcl": "#!/bin/sh\n"} {
		if err := os.WriteFile(filepath.Join(box, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	_, err := newRunner(t, render.Config{Tools: box}).Render(patient(t), execPass(t, "kcl"))
	if err == nil || !strings.Contains(err.Error(), "declares them in the tools.yaml") {
		t.Errorf("got %v", err)
	}
}

// TestToolLeavesNothingRunning: a process that a tool left behind, even one that
// wanted its own session, has ended when the pass has.
func TestToolLeavesNothingRunning(t *testing.T) {
	result, err := newRunner(t, render.Config{Tools: toolbox(t)}).Render(patient(t), execPass(t, "stay"))
	if err != nil || len(result.Objects) != 1 {
		t.Fatal(result, err)
	}
	eventually.For(t, time.Minute, "the end of what was killed", func() error {
		left, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, path := range left {
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "sleep\x00600.25") {
				return fmt.Errorf("%s still runs", path)
			}
		}
		return nil
	})
}

// TestDeclaredTools: with a tools.yaml, only declared tools exist.
func TestDeclaredTools(t *testing.T) {
	box := toolbox(t)
	declare := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(box, "tools.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	declare("tools:\n  made: {command: [mixed], generates: true}\n  always: {command: [mixed]}\n")
	runner := newRunner(t, render.Config{Tools: box})
	result, err := runner.Render(patient(t), execPass(t, "made"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/stringData/random"}, result.Objects[0].Volatile); diff != "" {
		t.Errorf("generated (-want +got):\n%s", diff)
	}
	if _, err := runner.Render(patient(t), execPass(t, "printer")); err == nil || !strings.Contains(err.Error(), "it has always, made;") {
		t.Errorf("got %v, want the declared tools alone", err)
	}
	before := runner.RendererVersion()
	for text, want := range map[string]string{
		"tools:\n  a: {command: [/bin/sh]}\n":         "must lie in this folder",
		"tools:\n  a: {command: [../sh]}\n":           "must lie in this folder",
		"tools:\n  a: {command: [none]}\n":            "no such file",
		"tools:\n  a: {}\n":                           "either command or module",
		"tools:\n  'a b': {command: [mixed]}\n":       "is not a valid tool name",
		"tools:\n  a: {command: [mixed], shell: x}\n": "unknown field",
		"tools:\n  a: {command: [tools.yaml]}\n":      "is not a program",
	} {
		declare(text)
		if _, err := render.New(render.Config{Binary: binary, Tools: box}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want ...%s...", text, err, want)
		}
	}
	declare("tools:\n  made: {command: [mixed, --other], generates: true}\n")
	if newRunner(t, render.Config{Tools: box}).RendererVersion() == before {
		t.Error("another command line is not another renderer")
	}
}

// modulePass runs the module over one manifest.
func modulePass(t *testing.T, files map[string]string, step render.Step) render.Pass {
	t.Helper()
	step.Type = "WASM"
	all := maps.Clone(files)
	all["a.yaml"] = good
	return render.Pass{Project: "p", Name: "web", Namespace: "shop", Folder: folder(t, all), Steps: []render.Step{step}, Configuration: map[string]string{"color": "green"}}
}

func TestModules(t *testing.T) {
	box := t.TempDir()
	module := rendertest.Printer(t, "wasip1/wasm")
	copyFile(t, module, filepath.Join(box, "printer.wasm"))
	code, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	do := func(pairs ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	outcome := func(want string) func(*testing.T, render.Result) {
		return func(t *testing.T, r render.Result) {
			t.Helper()
			if got := data(t, r)["outcome"]; !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	runner := rareRunner(t, render.Config{Tools: box})
	for name, test := range map[string]struct {
		files map[string]string
		step  render.Step
		want  func(*testing.T, render.Result)
		fail  string
	}{
		"of the agent": {step: render.Step{Tool: "printer"}, want: func(t *testing.T, r render.Result) {
			t.Helper()
			if data(t, r)["color"] != "green" || len(r.Objects) != 2 {
				t.Errorf("got %v", r)
			}
		}},
		"of the service": {files: map[string]string{"m/p.wasm": string(code)}, step: render.Step{Module: "m/p.wasm", Parameters: do("do", "read", "path", "a.yaml")}, want: outcome("worked")},
		"socket":         {step: render.Step{Tool: "printer", Parameters: do("do", "socket")}, want: outcome("no socket")},
		"outside":        {step: render.Step{Tool: "printer", Parameters: do("do", "read", "path", "/etc/passwd")}, want: outcome("No such file or directory")},
		"write":          {step: render.Step{Tool: "printer", Parameters: do("do", "write", "path", "a.yaml")}, want: outcome("a.yaml")},
		"environment":    {step: render.Step{Tool: "printer", Parameters: do("do", "environment")}, want: outcome("PWD=/")},
		"grows":          {step: render.Step{Tool: "printer", Parameters: do("do", "grow")}, fail: "memory"},
		"unknown":        {step: render.Step{Tool: "none"}, fail: `no WebAssembly module "none" for a renderer of type WASM; it has printer;`},
		"not there":      {step: render.Step{Module: "none.wasm"}, fail: "none.wasm: no such file"},
		"no module":      {step: render.Step{Module: "a.yaml"}, fail: "a.yaml: the file is not a runnable WebAssembly module"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.files == nil {
				test.files = map[string]string{}
			}
			result, err := runner.Render(patient(t), modulePass(t, test.files, test.step))
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("got %v, want ...%s...", err, test.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			test.want(t, result)
		})
	}
}
