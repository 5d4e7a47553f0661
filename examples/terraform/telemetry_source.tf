resource "axle_telemetry_source" "edge_1_metrics" {
  name      = "edge-1-metrics"
  project   = axle_project.shop.name
  cluster   = axle_cluster.edge.name
  type      = "prometheus"
  namespace = "monitoring"
  service   = "prometheus-server"
  port      = "80"
}
