// Package diff makes axle diff: what manifests would change on the hub and in its
// clusters, or what a ref would change in all clusters.
//
// The plan of manifests is the dry run of cli/apply, and the comparison of a ref is that
// of cli/services; package cli passes both. It writes nothing, on the hub or elsewhere.
//
// Invariants: the exit codes are those of kubectl diff. With --live at most as many
// services are compared as --live-limit says, 16 at the same time, and what is left out is
// named.
package diff
