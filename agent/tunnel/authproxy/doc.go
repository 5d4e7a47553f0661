// Package authproxy is the last hop between a person and the API server of the
// agent's own cluster. hub/tunnel/authproxy is the first hop, and agent/tunnel
// carries the data between the two.
//
//	ServeStream -> admit   identity, path, Policy of this cluster's owner
//	            -> request a new one; of the head's headers only the harmless
//	            -> asUser  identity set last, over whatever came
//	            -> API server, whose RBAC decides as for everybody
//	            -> relay   each read goes out at once when its end is unknown
//	               or join both ways raw, after 101
//
// The hub says who a request is for; it does not decide what the request may do. A
// Policy belongs to the cluster's owner and comes from the agent's own flags; nothing
// that a hub sends can widen it. The package records no requests (the hub does) and
// never retries one.
//
// Invariants: a request leaves with exactly one Impersonate-User, which is the head's
// user, or not at all; no name that begins with "system:" is ever impersonated; no
// header Impersonate-*, X-Remote-*, Authorization, Cookie or Proxy-* of the head is
// forwarded; at most 64 KiB of one direction of one stream are buffered, and 2 KiB
// while it is idle.
package authproxy
