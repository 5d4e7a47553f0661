// Package authproxy lets people and programs use the API servers of clusters
// through the hub: /k8s/clusters/<handle>/… with a bearer token, and /ws/proxy
// with a ticket from a page. agent/tunnel/authproxy is the other end;
// hub/tunnel carries the bytes between the two.
//
//	ServeHTTP -> read     path, Connection, upgrade: 400 before anything else
//	          -> admit    who calls, which cluster, may the caller see it,
//	                      what does the token allow
//	          -> begin    the audit record of a command or a watch
//	          -> Open     a stream to the cluster, with the caller's name in it
//	          -> exchange body out, answer back, flushed per read when the
//	             or join  length is unknown; or raw bytes both ways after 101
//	          -> end      the audit record
//	Run       -> each second: who would not be let in any more as they were, who
//	             stopped reading
//
// It makes no access decisions: hub/identity decides who may read a cluster,
// and the cluster's own RBAC decides what the impersonated user may do there.
//
// Invariants: a cookie gives no access here; every response, including the
// hub's own, is sandboxed by its Content-Security-Policy and sets no cookie; no
// client header that could tell an API server who the caller is gets forwarded;
// a stream ends within 5 s of the end of its token or of a right or group that it was
// opened with, and 30 s after its client stopped reading; a command does not begin before its record is durable;
// tickets and credentials are not stored and open only what they name; a ticket
// works once in the whole hub, within 30 s.
package authproxy
