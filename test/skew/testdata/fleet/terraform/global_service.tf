resource "axle_global_service" "metrics" {
  name    = "metrics"
  tags    = { tier = "prod" }
  cascade = "delete"

  template = {
    namespace  = "metrics"
    repository = axle_repository.platform.name
    git = {
      ref    = "main"
      folder = "metrics/{{ cluster.metadata.region }}"
    }
  }

  rollout = {
    waves = ["1", "25%"]
    soak  = "10m"
  }
}

resource "axle_repository" "platform" {
  name = "platform"
  url  = "https://git.example.com/platform/addons.git"
}
