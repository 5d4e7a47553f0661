// Package record defines the rows of the git cache: repositories, sources,
// heads, artifacts and the leases on repositories, and the Store that keeps
// them. It makes no decisions. The git and artifact agents read and write these
// rows; packages outside the cache use them under gitcache's names.
//
// Invariants: the same source has the same ID in every process; a head, a
// health and a fetch start are written under the epoch of the repository's
// lease, and refused when a later epoch was seen; secrets are never printed.
package record
