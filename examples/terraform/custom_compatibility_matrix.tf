resource "axle_custom_compatibility_matrix" "edge_proxy" {
  name        = "edge-proxy"
  release_url = "https://git.example.com/platform/edge-proxy/releases"
  versions = [
    { version = "1.4.0", chart_version = "3.2.0", kube = ["1.35", "1.36"] },
    {
      version       = "1.5.0"
      chart_version = "3.3.0"
      kube          = ["1.36", "1.37"]
      summary       = { breaking_changes = ["the port is 8443"] }
    },
  ]
}
