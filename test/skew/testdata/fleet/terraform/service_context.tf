variable "api_key" {
  type      = string
  ephemeral = true
}

resource "axle_service_context" "shop" {
  name               = "shop"
  project            = axle_project.shop.name
  values             = jsonencode({ domain = "shop.example.com", replicas = 3 })
  secrets_wo         = { api_key = var.api_key }
  secrets_wo_version = 1
}
