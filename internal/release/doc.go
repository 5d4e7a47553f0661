// Package release is the form of a release: an OCI layout with images, charts and one
// artifact that lists everything (Release), and the signatures over them, in the form
// that cosign reads. It writes layouts, signs and verifies.
//
// It builds nothing, speaks to no registry and holds no key. cmd/release writes
// releases with it, cli/bundle reads them.
//
// Invariants: what is listed is named by its SHA-256, so that one signature over the
// list covers every byte; a signature counts only if it was made over the digest that
// it lies beside; equal contents give equal layouts.
package release
