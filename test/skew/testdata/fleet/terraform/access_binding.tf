resource "axle_access_binding" "sre" {
  subject_kind = "group"
  subject      = axle_group.sre.name
  actions      = ["read", "write"]
  project      = axle_project.shop.name
}
