variable "client_secret" {
  type      = string
  ephemeral = true
}

resource "axle_login_provider" "company" {
  name                     = "company"
  title                    = "Example Inc."
  issuer                   = "https://login.example.com"
  client_id                = "axle"
  client_secret_wo         = var.client_secret
  client_secret_wo_version = 1
  groups_claim             = "groups"
  groups                   = { platform = axle_group.sre.name }
  email_domains            = ["example.com"]
}
