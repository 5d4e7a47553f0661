package object

import "github.com/axle-cd/axle/internal/rule"

// ClusterTemplate is a folder of Git that clusters are made from.
var ClusterTemplate = stored(Kind{
	Name: "ClusterTemplate", Text: "A template of clusters: a folder in Git with a ClusterClass of Cluster API, its defaults and the schema of its variables.",
	Noun: "clusters templates", Words: []string{"clustertemplate", "template", "templates"},
	Storage: &Storage{
		Called: "cluster template", Short: "axct", Settings: "ClusterTemplateSettings", File: "clustertemplate",
		Write: Administrators, Prefix: "ctp_", Limit: 200, Columns: []string{"repository", "ref", "folder"},
		Example: `{"repository": "fleet", "ref": "v1.4.0", "folder": "deploy/clusters/eks", "kinds": ["Cluster.cluster.x-k8s.io", "ClusterClass.cluster.x-k8s.io", "AWSManagedControlPlaneTemplate.controlplane.cluster.x-k8s.io", "AWSManagedClusterTemplate.infrastructure.cluster.x-k8s.io", "AWSMachineTemplate.infrastructure.cluster.x-k8s.io", "NodeadmConfigTemplate.bootstrap.cluster.x-k8s.io"], "description": "Clusters on EC2"}`,
		Examples: []string{
			"apply eks --repository fleet --ref v1.4.0 --folder deploy/clusters/eks --kinds Cluster.cluster.x-k8s.io,ClusterClass.cluster.x-k8s.io --management-clusters mgmt",
			"list", "get eks -o yaml", "delete eks",
		},
	},
	Fields: Fields{
		"name":       {Required: true, Immutable: true, Rule: rule.Label, Text: "The name, which cannot change."},
		"repository": {Required: true, Reference: "Repository"},
		"ref":        {Required: true},
		"folder":     {Required: true, Rule: rule.Folder},
		"kinds":      {Required: true, Set: true, Rule: rule.GroupKind},

		"management_clusters": {Set: true, Reference: "Cluster"},
		"projects":            {Set: true, Reference: "Project"},
	},
})
