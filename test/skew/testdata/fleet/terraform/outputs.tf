resource "axle_outputs" "network" {
  name    = "network"
  project = axle_project.shop.name
  values  = jsonencode({ vpc_id = "vpc-1", subnets = ["a", "b"] })
}
