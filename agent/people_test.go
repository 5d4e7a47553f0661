package agent_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/bin"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHealthOf(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "d.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, generation: 1}\nspec: {replicas: 2}\nstatus: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2, readyReplicas: 2}\n")
	var out bytes.Buffer
	if err := agent.HealthOf(t.Context(), &out, nil, agent.HealthRequest{File: file}); err != nil || !strings.Contains(out.String(), `"status":"Healthy"`) {
		t.Errorf("got %s, %v", out.String(), err)
	}
	if err := agent.HealthOf(t.Context(), &out, strings.NewReader("just: text"), agent.HealthRequest{File: "-"}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("got %v for what is no object", err)
	}
}

func TestHealthOfByScript(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "queue.yaml", "apiVersion: example.org/v1\nkind: Queue\nspec: {limit: 30}\nstatus: {used: 31}\n")
	script := write(t, dir, "queue.lua", `return {status = obj.status.used > obj.spec.limit and "Degraded" or "Healthy", message = obj.status.used .. " > " .. obj.spec.limit}`)
	var out bytes.Buffer
	if err := agent.HealthOf(t.Context(), &out, nil, agent.HealthRequest{File: file, Lua: script}); err != nil || out.String() != `{"status":"Degraded","message":"31 > 30"}`+"\n" {
		t.Errorf("got %s, %v", out.String(), err)
	}
	broken := write(t, dir, "broken.lua", "return {")
	if err := agent.HealthOf(t.Context(), &out, nil, agent.HealthRequest{File: file, Lua: broken}); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "broken.lua") {
		t.Errorf("got %v for a broken script", err)
	}
	if err := agent.HealthOf(t.Context(), &out, nil, agent.HealthRequest{File: file, Lua: dir + "/none"}); !errors.Is(err, agent.ErrArgument) {
		t.Errorf("got %v for no script", err)
	}
	empty := write(t, dir, "empty.yaml", "metadata: {}\n")
	if err := agent.HealthOf(t.Context(), &out, nil, agent.HealthRequest{File: file, Rule: empty}); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "CustomHealth "+empty+" has neither") {
		t.Errorf("got %v, want the file's name in place of the rule's", err)
	}
}

func TestRenderDir(t *testing.T) {
	binary, err := bin.Path(t.Context(), "axle-render", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "map.yaml.liquid", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  color: \"{{ configuration.color }}\"\n")
	service := write(t, t.TempDir(), "service.yaml", "apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web, namespace: shop}\nspec:\n  configuration: {color: blue}\n")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, binary) // as people write it; the child runs elsewhere
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := agent.RenderDir(t.Context(), &out, agent.RenderRequest{Dir: dir, ServiceFile: service, Binary: relative}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "color: blue") || !strings.Contains(text, "# Source: map.yaml.liquid") {
		t.Errorf("got\n%s", text)
	}
	write(t, dir, "bad.yaml", "a: b\n  c: d\n")
	if _, err := agent.RenderDir(t.Context(), &out, agent.RenderRequest{Dir: dir, Binary: binary}); err == nil || !strings.Contains(err.Error(), "bad.yaml:2") {
		t.Errorf("got %v, want file and line", err)
	}
}

// TestAServiceFileIsReadAsTheHubReadsIt: a misspelled field would otherwise be left
// out here and refused by axle apply.
func TestAServiceFileIsReadAsTheHubReadsIt(t *testing.T) {
	dir := t.TempDir()
	service := write(t, t.TempDir(), "service.yaml", "kind: ServiceDeployment\nmetadata: {name: web}\nspec: {cluster: edge-1, hlem: {release: web}}\n")
	_, err := agent.RenderDir(t.Context(), &bytes.Buffer{}, agent.RenderRequest{Dir: dir, ServiceFile: service})
	if err == nil || !strings.Contains(err.Error(), `unknown field "spec.hlem"`) {
		t.Errorf("got %v, want the unknown field", err)
	}
}

func TestWhatIsNotThereIsAnErrorOfUsage(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "bad.yaml", "just: text")
	var out bytes.Buffer
	render := func(dir, service string) error {
		_, err := agent.RenderDir(t.Context(), &out, agent.RenderRequest{Dir: dir, ServiceFile: service})
		return err
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no folder":       {render("/nowhere", ""), true},
		"a file":          {render(file, ""), true},
		"no service file": {render(dir, "/nowhere"), true},
		"bad service":     {render(dir, file), false},
		"no object file":  {agent.HealthOf(t.Context(), &out, nil, agent.HealthRequest{File: "/nowhere"}), true},
		"bad object":      {agent.HealthOf(t.Context(), &out, nil, agent.HealthRequest{File: file}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if !errcode.Is(test.err, errcode.Invalid) || errors.Is(test.err, agent.ErrArgument) != test.want {
				t.Errorf("got %v", test.err)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, test := range map[string]struct {
		config agent.Config
		says   string
	}{
		"no hub":            {agent.Config{DataDir: "x"}, "--hub-url"},
		"no folder":         {agent.Config{HubURL: "https://hub"}, "--data-dir"},
		"polls too often":   {agent.Config{HubURL: "https://hub", DataDir: "x", PollInterval: 1}, "--poll-interval"},
		"hub unencrypted":   {agent.Config{HubURL: "http://hub.example.com", DataDir: "x"}, "https"},
		"no such authority": {agent.Config{HubURL: "https://hub", DataDir: "x", CAFile: "/nowhere"}, "--ca-file"},
		"no cluster":        {agent.Config{HubURL: "https://hub", DataDir: "x"}, "--kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := agent.New(test.config)
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want one that names %s", err, test.says)
			}
		})
	}
}
