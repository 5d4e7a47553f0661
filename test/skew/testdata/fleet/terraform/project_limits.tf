resource "axle_project_limits" "shop" {
  project    = axle_project.shop.name
  namespaces = ["shop", "shop-*"]
  kinds      = ["Deployment.apps", "Service", "ConfigMap", "Secret", "Namespace"]

  sync_windows = [{
    kind     = "deny"
    schedule = "0 22 * * 5"
    duration = "54h"
  }]
}
