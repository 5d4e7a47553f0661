// Package authproxy is the last hop between a person and the API server of the
// agent's own cluster. hub/tunnel/authproxy is the first one, and agent/tunnel
// carries what goes between the two.
//
//	ServeStream -> admit   identity, path, Policy of this cluster's owner
//	            -> request a new one; of the head's headers only the harmless
//	            -> asUser  identity set last, over whatever came
//	            -> API server, whose RBAC decides as for everybody
//	            -> relay   each read goes out at once when its end is unknown
//	               or join both ways raw, after 101
//
// The hub says for whom a request is, and is not asked what it may do: a Policy
// is the cluster owner's, comes from the agent's own flags, and nothing that a
// hub sends can widen it. It keeps no record of requests (the hub does) and
// never retries one.
//
// Invariants: a request leaves with exactly one Impersonate-User, which is the
// head's user, or not at all; no name that begins with "system:" is ever asked
// for; no header Impersonate-*, X-Remote-*, Authorization, Cookie or Proxy-* of
// the head leaves; no more than 64 KiB of one direction of one stream is held,
// and 2 KiB while nothing flows.
package authproxy
