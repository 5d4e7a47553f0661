// Package digest names folders by what they contain.
//
// A content digest covers the paths, kinds and bytes of a set of files and nothing
// else: no times, owners, directories, commit or archive format. Two machines that
// hold the same files compute the same digest. An agent uses this to check that it
// received what the hub meant, and the hub to notice that a commit changed nothing in
// a folder.
//
// The format is specified in docs/spec/content-digest.md, with test vectors beside
// it. The package only hashes; it opens no files. The hub's git cache and
// internal/tarball call it.
//
// Invariants: the order of Add calls does not matter. A set of paths has no digest if
// some file system could not hold all of them (duplicates, names that differ only in
// case, a file that is also a folder).
package digest
