package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/axle-cd/axle/test/bin"
)

// helmLimit bounds one command of Helm.
const helmLimit = 2 * time.Minute

// helmName is the name that --only matches to run Helm.
const helmName = "helm"

// helm runs the life of a release with the real command, directly and through the
// hub, and reports whether the output was equal.
func (c *conform) helm(ctx context.Context, direct, hub string) (bool, error) {
	c.say("helm: building the real command")
	program, err := bin.Path(ctx, "helm", bin.Options{Module: "test/goldens", Package: "helm.sh/helm/v4/cmd/helm"})
	if err != nil {
		return false, err
	}
	chart := filepath.Join(c.dir, "chart")
	for name, text := range helmChart {
		path := filepath.Join(chart, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return false, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return false, err
		}
	}
	said := map[string]string{}
	for way, kubeconfig := range map[string]string{"direct": direct, "hub": hub} {
		var err error
		if said[way], err = helmLife(ctx, program, chart, kubeconfig, "helm-"+way); err != nil {
			return false, fmt.Errorf("helm, %s: %w", way, err)
		}
	}
	if said["direct"] != said["hub"] {
		fmt.Printf("helm says directly:\n%s\nand through the hub:\n%s\n", said["direct"], said["hub"])
	}
	return said["direct"] == said["hub"], nil
}

// helmSteps are the life of a release; each step's output is compared.
var helmSteps = [][]string{
	{"install", "shop", "CHART", "--create-namespace", "--wait"},
	{"upgrade", "shop", "CHART", "--set", "greeting=two", "--wait"},
	{"get", "manifest", "shop"},
	{"rollback", "shop", "1", "--wait"},
	{"get", "manifest", "shop"},
	{"test", "shop"},
	{"history", "shop", "-o", "json"},
	{"list", "-q"},
	{"uninstall", "shop", "--wait"},
	{"list", "-q"},
}

// differs matches what may differ between two runs: times and names.
var differs = regexp.MustCompile(`helm-(direct|hub)|(LAST DEPLOYED|Last Started|Last Completed):.*|"updated":"[^"]*"`)

func helmLife(ctx context.Context, program, chart, kubeconfig, namespace string) (string, error) {
	var all strings.Builder
	for _, step := range helmSteps {
		arguments := append([]string{"--kubeconfig", kubeconfig, "--namespace", namespace}, step...)
		for i, a := range arguments {
			if a == "CHART" {
				arguments[i] = chart
			}
		}
		limited, cancel := context.WithTimeout(ctx, helmLimit)
		out, err := exec.CommandContext(limited, program, arguments...).CombinedOutput()
		cancel()
		if err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(step, " "), err, out)
		}
		fmt.Fprintf(&all, "$ helm %s\n%s\n", strings.Join(step, " "), differs.ReplaceAll(out, nil))
	}
	return all.String(), nil
}

// helmChart uses most of the API that Helm can use: a hook with a wait, a lookup, and
// a test.
var helmChart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
	"values.yaml": "greeting: one\n",
	"templates/config.yaml": `apiVersion: v1
kind: ConfigMap
metadata:
  name: shop
data:
  greeting: {{ .Values.greeting }}
  kubernetes: {{ (lookup "v1" "Service" "default" "kubernetes").spec.type }}
`,
	"templates/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers: [{name: shop, image: shop, command: [sleep, "600"]}]
`,
	"templates/hook.yaml": helmJob("before", "pre-install,pre-upgrade"),
	"templates/test.yaml": helmJob("check", "test"),
}

func helmJob(name, hook string) string {
	text, _ := json.Marshal(map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"name": name, "annotations": map[string]string{"helm.sh/hook": hook, "helm.sh/hook-delete-policy": "before-hook-creation"}},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"restartPolicy": "Never", "containers": []map[string]any{{"name": name, "image": name, "command": []string{"true"}}},
		}}},
	})
	return string(text)
}
