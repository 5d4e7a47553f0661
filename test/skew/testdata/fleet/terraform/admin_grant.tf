resource "axle_admin_grant" "ann" {
  user = axle_user.ann.email
}
