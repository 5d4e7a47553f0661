// Package debian composes the base of our images from Debian packages: the list
// of packages (Lock), a copy of each by content (Store), their files (Unpack), and
// the command that makes the list anew from Debian's signed indexes (Resolve).
//
// It runs no script of a package and needs neither root nor dpkg. It knows nothing
// about images. Package main of cmd/release calls it.
//
// Invariants: a package is used only if its SHA-256 is the one of the lock; equal
// locks give equal files; a package of more than 256 MiB, or one that unpacks to more
// than 1 GiB, is refused.
package debian
