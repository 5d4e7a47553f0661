package main

// provider is one part of Cluster API with a component file of its own.
type provider struct {
	name    string // of its component file
	module  string
	version string
	sum     string // of the module, as go.sum has it
	folder  string // in the module, with config/default below it
	image   string // of its manager, without the tag, which is the version
	// settings are values of the variables of the file; all others take their defaults.
	settings map[string]string
	// kinds are those that templates in deploy/clusters and what comes out of them use, by
	// group and version. The contract test of the templates judges by their definitions.
	kinds map[string][]string
}

const (
	core      = "sigs.k8s.io/cluster-api"
	coreSum   = "h1:o3GFNaeNFAOEEMpDPfhCK+2CjmV6gtQ8yLEcUwCg7bA="
	coreAt    = "v1.14.2"
	clusters  = "cluster.x-k8s.io/v1beta2"
	bootstrap = "bootstrap.cluster.x-k8s.io/"
	planes    = "controlplane.cluster.x-k8s.io/"
	machines  = "infrastructure.cluster.x-k8s.io/"
)

var providers = []provider{
	{
		name: "core", module: core, version: coreAt, sum: coreSum, folder: "core",
		image:    "registry.k8s.io/cluster-api/cluster-api-controller",
		settings: map[string]string{"CLUSTER_TOPOLOGY": "true"},
		kinds:    map[string][]string{clusters: {"Cluster", "ClusterClass"}},
	},
	{
		name: "bootstrap-kubeadm", module: core, version: coreAt, sum: coreSum, folder: "bootstrap/kubeadm",
		image: "registry.k8s.io/cluster-api/kubeadm-bootstrap-controller",
		kinds: map[string][]string{bootstrap + "v1beta2": {"KubeadmConfigTemplate"}},
	},
	{
		name: "control-plane-kubeadm", module: core, version: coreAt, sum: coreSum, folder: "controlplane/kubeadm",
		image:    "registry.k8s.io/cluster-api/kubeadm-control-plane-controller",
		settings: map[string]string{"CLUSTER_TOPOLOGY": "true"},
		kinds:    map[string][]string{planes + "v1beta2": {"KubeadmControlPlaneTemplate"}},
	},
	{
		name: "infrastructure-docker", module: core + "/test", version: coreAt, sum: "h1:nZ/Ql57cR7Huwqd7o3X+2AFSg5kcAmSTUZovLwzIhIs=",
		folder:   "infrastructure/docker",
		image:    "gcr.io/k8s-staging-cluster-api/capd-manager",
		settings: map[string]string{"CLUSTER_TOPOLOGY": "true"},
		kinds:    map[string][]string{machines + "v1beta2": {"DevClusterTemplate", "DevMachineTemplate"}},
	},
	{
		name: "infrastructure-aws", module: "sigs.k8s.io/cluster-api-provider-aws/v2", version: "v2.13.0",
		sum:   "h1:yQz7GBrIkPLuEJ5MXNuZ/6eUssTJK8reUnZ6t5QIPnU=",
		image: "registry.k8s.io/cluster-api-aws/cluster-api-aws-controller",
		kinds: map[string][]string{
			bootstrap + "v1beta2": {"NodeadmConfigTemplate"},
			planes + "v1beta2":    {"AWSManagedControlPlaneTemplate"},
			machines + "v1beta2":  {"AWSManagedClusterTemplate", "AWSMachineTemplate"},
		},
	},
	{
		name: "infrastructure-gcp", module: "sigs.k8s.io/cluster-api-provider-gcp", version: "v1.13.1",
		sum:      "h1:l4zdwsHFwcA8CP5P4NPar9fUu5kMwucKhp2IQBHduJs=",
		image:    "registry.k8s.io/cluster-api-gcp/cluster-api-gcp-controller",
		settings: map[string]string{"EXP_CAPG_GKE": "true", "EXP_MACHINE_POOL": "true"},
		kinds: map[string][]string{
			bootstrap + "v1beta1": {"GKEConfigTemplate"},
			machines + "v1beta1":  {"GCPManagedClusterTemplate", "GCPManagedControlPlaneTemplate", "GCPManagedMachinePoolTemplate"},
		},
	},
}
