variable "git_password" {
  type      = string
  ephemeral = true
}

resource "axle_repository" "fleet" {
  name    = "fleet"
  project = axle_project.shop.name
  url     = "https://git.example.com/platform/fleet.git"

  # In no state and no plan. Another version sends it again.
  credentials_wo = {
    username = "axle"
    password = var.git_password
  }
  credentials_wo_version = 1
}

resource "axle_repository" "charts" {
  name    = "charts"
  project = axle_project.shop.name
  type    = "helm"
  url     = "https://charts.example.com"
}
