// Package bundle makes axle bundle: a whole release as one file, for where there is no
// network. The file is an OCI layout in a tar: images, charts, and the artifact that
// lists them with all files of the release (internal/release).
//
// It talks to registries and never to a hub, and keeps no state. Package cli calls it.
//
// Invariants: nothing is believed that the trusted key has not signed, and the key is
// compiled in or given, never one of the bundle; every byte is checked against the
// signed list before the first is pushed; a file is written whole or not at all; a
// registry gets the list last, so that one that has it has everything; manifests are at
// most 4 MiB.
package bundle
