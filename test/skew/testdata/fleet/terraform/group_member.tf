resource "axle_group_member" "ann" {
  group = axle_group.sre.name
  user  = axle_user.ann.email
}
