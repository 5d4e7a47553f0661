// Package liveapi answers ClusterAPI: calls about the live state of clusters,
// for pages. It translates them into requests to a cluster's API server, which
// hub/tunnel/authproxy makes as the caller: with the same checks, policies and
// audit records as those of kubectl through the hub.
//
// It decides nothing: the hub's gate says who may use a cluster, a token with
// the scope read writes nothing, and the cluster's RBAC decides the rest.
// hub/console calls it.
//
// Invariants: the values of Secrets leave the hub as their sizes, but for one key that a
// page asks for by name; what stands for a value is never written; an object to write has at most 1 MiB; a log is asked for at most
// 50,000 lines; no text of an object is stored or logged here.
package liveapi
