# The agents follow this version in waves; without a version it is the hub's own.
resource "axle_agent_upgrade" "fleet" {
  waves           = ["1", "10%", "100%"]
  soak            = "30m"
  max_unavailable = "5%"
}
