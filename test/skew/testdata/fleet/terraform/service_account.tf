resource "axle_service_account" "ci" {
  name = "ci"
}
