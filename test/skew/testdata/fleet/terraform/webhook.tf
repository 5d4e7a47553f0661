variable "webhook_secret" {
  type      = string
  ephemeral = true
}

resource "axle_webhook" "fleet" {
  name              = "fleet"
  scm_provider      = "github"
  repository        = axle_repository.fleet.name
  secret_wo         = var.webhook_secret
  secret_wo_version = 1
}
