package agent_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/test/bin"
)

// TestRenderDirOfExamples prints the examples as docs/spec/renderers.md says.
func TestRenderDirOfExamples(t *testing.T) {
	binary, err := bin.Path(t.Context(), "axle-render", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const examples = "../examples/renderers/"
	for name, want := range map[string]string{
		"changed": "# Source: web.yaml\napiVersion: v1\ndata:\n  color: green\nkind: ConfigMap\nmetadata:\n  labels:\n    team: web\n  name: changed-web\n",
		"tool":    "# Source: . (tool names)\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := agent.RenderDir(t.Context(), &out, agent.RenderRequest{
				Dir: examples + name, ServiceFile: examples + "services/" + name + ".yaml", Binary: binary, Tools: examples + "tools",
			})
			if err != nil || !strings.Contains(out.String(), want) {
				t.Errorf("got %v\n%s", err, out.String())
			}
		})
	}
}
