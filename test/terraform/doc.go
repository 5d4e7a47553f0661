// Package terraform is the whole way of the Terraform provider: the real terraform finds
// it at a real hub, and makes a fleet of real API servers with real agents, beside a
// real operator. Tests of single resources are beside the provider.
package terraform
