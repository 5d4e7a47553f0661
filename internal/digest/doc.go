// Package digest names folders by what they contain.
//
// A content digest covers the paths, kinds and bytes of a set of files and
// nothing else: no times, no owners, no directories, no commit, no archive
// format. Two machines that hold the same files compute the same digest, which
// is how an agent knows that it received what the hub meant, and how the hub
// knows that a commit changed nothing in a folder.
//
// The format is written down in docs/spec/content-digest.md and fixed by the
// vectors beside it. The package only hashes; it opens no files. The hub's git
// cache and internal/tarball call it.
//
// Invariants: the order of Add calls does not matter; a set of paths that some
// filesystem could not hold side by side (duplicates, names equal but for case,
// a file that is also a folder) has no digest.
package digest
