resource "axle_cluster_template" "eks" {
  name       = "eks"
  repository = axle_repository.fleet.name
  ref        = "v1.4.0"
  folder     = "deploy/clusters/eks"
  kinds = [
    "Cluster.cluster.x-k8s.io",
    "ClusterClass.cluster.x-k8s.io",
    "AWSManagedControlPlaneTemplate.controlplane.cluster.x-k8s.io",
    "AWSManagedClusterTemplate.infrastructure.cluster.x-k8s.io",
    "AWSMachineTemplate.infrastructure.cluster.x-k8s.io",
    "NodeadmConfigTemplate.bootstrap.cluster.x-k8s.io",
  ]
}
