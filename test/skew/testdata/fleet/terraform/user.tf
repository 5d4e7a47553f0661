resource "axle_user" "ann" {
  email = "ann@example.com"
}
