// Package audit is the hub's record of who did what: every write, and every
// call that somebody makes to a cluster through the hub.
package audit

// Record is one thing that somebody did or tried.
type Record struct {
	// At is microseconds since 1970 UTC; zero is now.
	At int64
	// Actor is the caller by name, ActorKind his identity.Kind, ActorID his id.
	Actor, ActorKind, ActorID string
	// AsUser and AsGroups are whom a cluster's API server saw; empty for calls
	// to the hub itself.
	AsUser   string
	AsGroups []string
	// TokenID is the token or session that he came with.
	TokenID string
	// Source is the address that the call came from.
	Source string
	// Action is the RPC's procedure or "kubernetes"; Verb is the Kubernetes
	// verb (get, list, exec, …) or the Action of identity.
	Action, Verb string
	// ProjectID and ClusterID are where.
	ProjectID, ClusterID string
	// Object is what: kind, namespace and name; the resource with its
	// subresource for Kubernetes.
	Kind, Namespace, Name string
	// Result is "ok", or a code of errcode; Status the HTTP status of a
	// cluster's answer.
	Result string
	Status int
	// Before and After are the object's spec as JSON with secrets masked.
	Before, After string
	// Detail holds what is particular: an exec's command, bytes both ways, the
	// duration.
	Detail map[string]string
}
