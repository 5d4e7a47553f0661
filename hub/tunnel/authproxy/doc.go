// Package authproxy lets people and programs use the API servers of clusters
// through the hub: /k8s/clusters/<handle>/… with a bearer token, and /ws/proxy
// with a ticket from a page. agent/tunnel/authproxy is the other end, hub/tunnel
// carries what goes between the two.
//
//	ServeHTTP -> read     path, Connection, upgrade: 400 before anything else
//	          -> admit    who asks, which cluster, may he see it, what may his
//	                      token do
//	          -> begin    the audit record of a command or a watch
//	          -> Open     a stream to the cluster, with the caller's name in it
//	          -> exchange body out, answer back, each read at once when no
//	             or join  length is known; or raw bytes both ways after 101
//	          -> end      the audit record
//	Run       -> each second: who lost his token, who stopped reading
//
// It decides nothing about rights: hub/identity says who may read a cluster,
// and the cluster's own RBAC says what the impersonated user may do there.
//
// Invariants: a cookie opens nothing here; every answer, ours too, is sandboxed
// by its Content-Security-Policy and sets no cookie; no header of the client
// that could tell an API server who asks goes along; a stream ends within 5 s
// of its token's revocation, and 30 s after its client stopped reading; a
// command is not begun before its record is durable; a ticket and a credential
// are kept nowhere, open only what they name, and a ticket opens it once in the
// whole hub, within 30 s.
package authproxy
