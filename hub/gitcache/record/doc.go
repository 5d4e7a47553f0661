// Package record holds what the cache knows, as rows: repositories, sources,
// heads, artifacts and the leases on repositories, and the Store that keeps
// them. It decides nothing. The agents of repositories, whatever their kind,
// read and write these rows; everybody outside the cache sees them under
// gitcache's names.
//
// Invariants: the same source has the same ID in every process; a head, a
// health and a fetch start are written under the epoch of the repository's
// lease and refused when a later one was seen; secrets never print.
package record
