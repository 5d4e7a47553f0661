// Package terraform serves the Terraform provider of this hub from a folder of zip files,
// so that terraform init and tofu init find it without any registry: as a network mirror
// below /terraform/mirror/, and as a registry, found by /.well-known/terraform.json.
//
// It serves nothing else, asks nobody, and needs no login: the provider is the product's,
// and holds nothing of a fleet. The root of the hub wires it in.
//
// Invariants: a file is hashed once for each of its contents, one file at a time. The
// signature of the registry protocol says that this hub serves the files, by a key of
// its own that it also hands out; it is not the signature of the release, which axle
// bundle verify checks.
package terraform
