package render

import (
	"encoding/json"
	"fmt"
	"path"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// stepsOf lists the renderers of a service: its own folder first, then the entries in
// order. An entry for the service's own folder replaces the first.
func stepsOf(r *agentv1.Render) []Step {
	root := Step{Helm: helmOf(r.GetHelm()), Postrender: r.GetHelm().GetKustomizePostrender()}
	if k := r.GetKustomize(); k != nil {
		root.Type, root.Path = "KUSTOMIZE", k.GetPath()
		root.KustomizeEnableHelm, root.KustomizeEnvsubst = k.GetEnableHelm(), k.GetEnvsubst()
	}
	steps := []Step{root}
	if chart := r.GetHelm().GetChartPath(); chart != "" {
		// The service's folder holds the chart's values files, not manifests.
		helm := root.Helm
		helm.OwnValuesFirst = true
		steps = []Step{{Type: "HELM", Path: chart, Helm: helm, Postrender: root.Postrender}}
		root.Postrender = ""
		if r.GetKustomize() != nil {
			steps = append(steps, root)
		}
	}
	for _, entry := range r.GetRenderers() {
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
