package object

import "github.com/axle-cd/axle/internal/rule"

// CustomCompatibilityMatrix is what versions of an add-on support. It has the name of the chart.
var CustomCompatibilityMatrix = stored(Kind{
	Name: "CustomCompatibilityMatrix", Plural: "custom_compatibility_matrices",
	Text: "The versions of Kubernetes that the versions of an add-on support. It has the name of the add-on's chart.",
	Noun: "clusters compatibility", Words: []string{"compatibilitymatrix", "compatibilitymatrices", "matrix", "matrices"},
	Adopts: "upsert", Manifest: &Manifest{NotActing: []string{"spec.icon"}},
	Storage: &Storage{
		Called: "compatibility matrix", Several: "compatibility matrices", Short: "axccm", Settings: "CustomCompatibilityMatrixSettings", File: "customcompatibilitymatrix",
		Write: Administrators, Prefix: "ccm_", Limit: 500, Columns: []string{"versions", "release_url"}, ClusterScoped: true,
		Example: `{"gitUrl": "https://git.example.test/platform/edge-proxy.git", "releaseUrl": "https://git.example.test/platform/edge-proxy/releases", "versions": [{"version": "1.4.0", "chartVersion": "3.2.0", "kube": ["1.35", "1.36"]}, {"version": "1.5.0", "chartVersion": "3.3.0", "kube": ["1.36", "1.37"], "summary": {"breakingChanges": ["the port is 8443"]}}]}`,
		Examples: []string{
			"list", "get edge-proxy -o yaml", "delete edge-proxy",
		},
	},
	Fields: Fields{
		"name":        {Required: true, Immutable: true, Rule: rule.Name, Text: "The name of the add-on's chart, which cannot change."},
		"release_url": {Rule: rule.Link},
		"readme_url":  {Rule: rule.Link},
		"versions":    {Most: 500},

		"CompatibilityVersion.version":          {Required: true, Rule: rule.Version},
		"CompatibilityVersion.chart_version":    {Rule: rule.Version},
		"CompatibilityVersion.kube":             {Required: true, Set: true, Rule: rule.KubernetesMinor},
		"CompatibilitySummary.helm_changes":     {Most: 50},
		"CompatibilitySummary.breaking_changes": {Most: 50},
	},
})
