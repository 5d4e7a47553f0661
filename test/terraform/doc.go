// Package terraform is the whole way of the Terraform provider: the real terraform finds
// it at a real hub, and makes a fleet of real API servers with real agents, beside a
// real operator. Tests of single resources are beside the provider. With AXLE_SOAK=1 an
// OpenTofu, which opentofu.sh builds, goes the way from init to destroy too.
package terraform
