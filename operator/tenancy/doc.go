// Package tenancy decides what an object of a namespace may do: with which token it
// acts at the hub, and which objects of other namespaces it may name. It reads
// NamespaceCredentials and ReferenceGrants from the cache of the operator, keeps a
// client of the hub for each credential, and says when a Secret, a ConfigMap or a
// grant changed outside of the admin namespaces. operator/controller asks it before
// each reconcile acts.
//
// Secrets of the control plane (Config.OwnSecrets) may be named by nobody: who may only
// write objects in its namespace must not get its database with them.
//
// It does not decide what a token may do; the hub does. It writes nothing.
//
// Invariants: only cluster-scoped objects and those of admin namespaces act with the
// operator's own token. A namespace that two NamespaceCredentials name has no token. A
// token is read from its Secret each time that a client is asked for, so a new one
// needs no event. At most 256 clients, and none that was unused for 10 min when
// another is asked for. At most 500 namespaces besides the admin ones are watched;
// changes elsewhere are found at the next check. Of Secrets and ConfigMaps only names
// are kept in memory.
package tenancy
