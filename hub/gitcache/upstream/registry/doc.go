// Package registry reads OCI registries: what a tag is now, which tags there
// are, manifests, blobs and what refers to them. The protocol and its token
// exchange are oras-go's; the connections, redirects and bounds are wire's.
//
// It writes nothing to a registry, unpacks nothing and verifies no signature.
// The agent of artifact repositories calls it.
//
// Invariants: every manifest and blob is compared with its digest and size
// before it is believed; a manifest is at most 4 MiB, at most 10,000 tags and
// 1,000 referrers are listed; credentials go to the registry and the token
// service that it names, never to where a blob is redirected.
package registry
