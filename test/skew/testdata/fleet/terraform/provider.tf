terraform {
  required_providers {
    axle = {
      source = "axle-cd/axle"
    }
  }
}

# The hub, the token and its authority come from axle login, or from AXLE_HUB_URL,
# AXLE_TOKEN and AXLE_CA_FILE.
provider "axle" {
  manager = "platform"
}
