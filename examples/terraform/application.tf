resource "axle_application" "wiki" {
  name          = "wiki"
  project       = axle_project.shop.name
  title         = "Wiki"
  redirect_uris = ["http://127.0.0.1/callback"]
  public        = true
  users         = ["ada@example.com"]
}
