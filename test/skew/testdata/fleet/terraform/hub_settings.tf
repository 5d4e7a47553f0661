resource "axle_hub_settings" "this" {
  sync_windows = [{
    kind        = "deny"
    schedule    = "0 0 24 12 *"
    duration    = "48h"
    time_zone   = "Europe/Berlin"
    manual_sync = true
  }]
}
