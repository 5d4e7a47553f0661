resource "axle_project" "shop" {
  name        = "shop"
  description = "Everything of the web shop"
}
