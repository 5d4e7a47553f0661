// Package terraform is the Terraform provider of the hub: a resource for each kind of
// object that axle apply knows, a data source for each list of the hub's API, tokens and
// kubeconfigs as ephemeral resources, and functions.
//
// One resource serves all kinds. The table kinds says by which calls a kind is written
// and read; package shape makes the attributes of the requests. What a message cannot say
// is in api/object. cmd/terraform-provider-axle serves the provider; it talks to the hub by
// sdk alone and decides nothing about rights or managers.
//
// Invariants: each write says that terraform/MANAGER writes, and takes nothing over that
// was not imported. A plan and an import write nothing. No secret is in a state, a plan
// or a log. A refresh makes at most one call for each object, and one for a page of 500
// where many objects of a list are read within 10 s.
package terraform
