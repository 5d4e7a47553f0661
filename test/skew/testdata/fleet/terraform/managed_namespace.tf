resource "axle_managed_namespace" "team" {
  name        = "team-a"
  description = "For team A"
  labels      = { team = "a" }
  tags        = { tier = "prod" }
}
