resource "axle_group" "sre" {
  name        = "sre"
  description = "Site reliability"
}
