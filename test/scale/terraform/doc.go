// Package terraform measures the Terraform provider with hundreds of services between
// the real terraform and a hub process: how long an apply and a refresh take, what the
// hub's CPU is, and how many calls a refresh makes. cmd/dev calls it.
//
// It counts calls in a proxy of its own, so that their number is the provider's and
// nobody else's. No agent runs: it is about the declaration.
package terraform
