resource "axle_cluster_template" "eks" {
  name       = "eks"
  repository = axle_repository.fleet.name
  ref        = "v1.4.0"
  folder     = "deploy/clusters/eks"
  kinds      = ["Cluster.cluster.x-k8s.io", "MachineDeployment.cluster.x-k8s.io"]
}
