resource "axle_federation_trust" "github" {
  name     = "github"
  issuer   = "https://token.actions.githubusercontent.com"
  audience = "https://axle.example.com"
  claims   = { repository = "example/shop", ref = "refs/heads/main" }
  account  = axle_service_account.ci.name
  scopes   = ["read", "write"]
  lifetime = "30m"
}
