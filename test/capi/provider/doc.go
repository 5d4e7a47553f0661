// Package provider is a small provider of Cluster API for tests and the demo: infrastructure,
// control planes and bootstrap in one. Each control plane is a real API server of test/kube,
// and each machine a Node there which is ready; nothing else runs behind a machine. Pods run
// where the control plane's kube.ClusterConfig has something that runs them.
//
// Its kinds keep the contract v1beta2. BedCluster and BedConfig do nothing but report;
// BedControlPlane has an API server as long as it exists, and writes its kubeconfig; BedMachine
// is a Node with the region of its cluster, and its own type and version. Cluster API's core
// decides what is made and in which order it is deleted.
//
// Invariants: a control plane and its address end with its BedControlPlane or with the provider,
// whichever is first. The objects of one cluster are worked on by one goroutine at a time, from
// all that the management cluster holds of it, and doing it again changes nothing.
package provider
