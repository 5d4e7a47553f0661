// Command capi makes what is installed of Cluster API, its core and its providers, from the
// modules that their projects publish, without the network beside the Go module proxy:
//
//	go run . components --out DIR   # one YAML file for each provider
//	go run . check                  # the same, compared with the list of releases and with the definitions of the tests
//	go run . update                 # writes the list, deploy/clusterapi/components.txt, and the definitions of the tests
//
// Nothing of these modules is compiled: go mod download brings them into the module cache, their
// sums are compared with those of providers.go, and kustomize builds their config/default.
// README.md says how a version is moved.
package main
