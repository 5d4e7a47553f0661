resource "axle_cluster" "edge" {
  name    = "edge-1"
  project = axle_project.shop.name
  tags = {
    tier   = "prod"
    region = "eu"
  }
  metadata = jsonencode({ domain = "edge-1.example.com" })
}
