package render

import (
	"encoding/json"
	"fmt"
	"path"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
)

// stepsOf lists the renderers of a service: its own folder first, then the entries in
// order. An entry for the service's own folder replaces the first. chartValues are the
// secret values of the service's chart.
func stepsOf(spec specv1.Spec, chartValues string) []Step {
	root := stepOf(specv1.Renderer{Helm: spec.Helm})
	root.SecretValues = chartValues
	chart := root.Helm.ChartPath
	root.Helm.ChartPath = ""
	if k := spec.Kustomize; k != nil {
		root.Type, root.Path = "KUSTOMIZE", k.Path
		root.KustomizeEnableHelm, root.KustomizeEnvsubst = k.EnableHelm, k.Envsubst
	}
	steps := []Step{root}
	if chart != "" {
		// The service's folder holds the chart's values files, not manifests.
		steps = []Step{{Type: "HELM", Path: chart, Helm: root.Helm, SecretValues: chartValues, OwnValuesFirst: true, Postrender: root.Postrender}}
		root.Postrender, root.SecretValues = "", ""
		if spec.Kustomize != nil {
			steps = append(steps, root)
		}
	}
	for _, entry := range spec.Renderers {
		step := stepOf(entry)
		if path.Clean(step.Path) == path.Clean(root.Path) && len(steps) > 0 && steps[0].Path == root.Path {
			steps = steps[1:]
		}
		steps = append(steps, step)
	}
	return steps
}

// clusterBinding is the object that templates see as cluster.
func clusterBinding(c *agentv1.ClusterData) (json.RawMessage, error) {
	metadata := map[string]any{}
	if text := c.GetMetadata(); text != "" {
		if err := json.Unmarshal([]byte(text), &metadata); err != nil {
			return nil, fmt.Errorf("the cluster's metadata is not a JSON object: %w", err)
		}
	}
	tags := c.GetTags()
	if tags == nil {
		tags = map[string]string{}
	}
	out, err := json.Marshal(map[string]any{
		"id": c.GetId(), "handle": c.GetHandle(), "name": c.GetName(), "tags": tags,
		"metadata": metadata, "distro": c.GetDistro(), "version": c.GetKubernetesMinor(),
		"currentVersion": c.GetKubernetesMinor(),
	})
	if err != nil {
		return nil, fmt.Errorf("encode the cluster's data for templates: %w", err)
	}
	return out, nil
}
