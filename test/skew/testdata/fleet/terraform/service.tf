variable "database_password" {
  type      = string
  ephemeral = true
}

resource "axle_service" "web" {
  cluster    = axle_cluster.edge.name
  name       = "web"
  namespace  = "shop-web"
  repository = axle_repository.fleet.name
  git = {
    ref    = "main"
    folder = "apps/web"
  }
  configuration = {
    greeting = "hello"
  }
  contexts           = [axle_service_context.shop.name]
  secrets_wo         = { database_password = var.database_password }
  secrets_wo_version = 1
}

resource "axle_service" "cache" {
  cluster   = axle_cluster.edge.name
  name      = "cache"
  namespace = "shop"
  helm = {
    repository = axle_repository.charts.name
    chart      = "redis"
    version    = "~20.0"
    values     = yamlencode({ replica = { replicaCount = 2 } })
  }
}
