package agent_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
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

// TestRenderDirSeesAsHelmTemplateDoes: Kubernetes' own kinds without a word,
// more by flags, and those of a cluster by its kubeconfig.
func TestRenderDirSeesAsHelmTemplateDoes(t *testing.T) {
	binary, err := bin.Path(t.Context(), "axle-render", bin.Options{})
	needs(t, err)
	dir := t.TempDir()
	write(t, dir, "Chart.yaml", "apiVersion: v2\nname: sees\nversion: 1.0.0\n")
	needs(t, os.Mkdir(filepath.Join(dir, "templates"), 0o755))
	write(t, dir, "templates/a.yaml", `apiVersion: v1
kind: ConfigMap
metadata: {name: sees}
data:
  version: {{ .Capabilities.KubeVersion.Version }}
  known: "{{ range list "policy/v1" "autoscaling/v2" "storage.k8s.io/v1" "apiextensions.k8s.io/v1" "admissionregistration.k8s.io/v1" }}{{ $.Capabilities.APIVersions.Has . }} {{ end }}"
  monitor: "{{ .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" }}"
  review: "{{ .Capabilities.APIVersions.Has "authorization.k8s.io/v1/SelfSubjectAccessReview" }}"
  year: "{{ now | date "2006" }}"
  looked: "{{ (lookup "v1" "Namespace" "" "kube-system").metadata }}"
`)
	kubeconfig := kube.Shared(t).Kubeconfig()
	for name, test := range map[string]struct {
		request agent.RenderRequest
		want    []string
	}{
		"nothing said": {agent.RenderRequest{}, []string{"version: v1.36.0", time.Now().UTC().Format(`year: "2006"`), "known: 'true true true true true '", `monitor: "false"`, `looked: ""`}},
		"by flags": {agent.RenderRequest{KubernetesVersion: "1.31", APIVersions: []string{"monitoring.coreos.com/v1", "monitoring.coreos.com/v1/ServiceMonitor"}},
			[]string{"version: v1.31", "known: 'true true true true true '", `monitor: "true"`}},
		"of a cluster": {agent.RenderRequest{Kubeconfig: kubeconfig, APIVersions: []string{"monitoring.coreos.com/v1/ServiceMonitor"}},
			[]string{"version: v1.3", "known: 'true true true true true '", `monitor: "true"`, `review: "true"`, "name:kube-system"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.request.Dir, test.request.Binary = dir, binary
			var out bytes.Buffer
			_, err := agent.RenderDir(t.Context(), &out, test.request)
			needs(t, err)
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %s in\n%s", want, out.String())
				}
			}
		})
	}
	for _, bad := range []agent.RenderRequest{{Dir: dir, Binary: binary, KubernetesVersion: "new"}, {Dir: dir, Binary: binary, Kubeconfig: "/nowhere"}} {
		if _, err := agent.RenderDir(t.Context(), io.Discard, bad); !errors.Is(err, agent.ErrArgument) {
			t.Errorf("got %v", err)
		}
	}
}
