// Package registry reads OCI registries: it resolves and lists tags, and
// fetches manifests, blobs and referrers. oras-go implements the protocol and
// its token exchange; wire implements connections, redirects and limits.
//
// It writes nothing to a registry, unpacks nothing and verifies no signature.
// The agent of artifact repositories calls it.
//
// Invariants: every manifest and blob is compared with its digest and size
// before it is used; a manifest is at most 4 MiB; at most 10,000 tags and 1,000
// referrers are listed; credentials go to the registry and the token service
// that it names, never to where a blob is redirected.
package registry
