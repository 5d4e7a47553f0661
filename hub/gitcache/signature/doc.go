// Package signature verifies OpenPGP and SSH signatures of Git commits and
// annotated tags against public keys that the user trusts.
//
// It works on bytes only: the git agent decides where objects come from, which
// of them must be signed and what a failure means. It supports no web of trust,
// no key servers and no X.509.
//
// Invariants: a signature counts only over exactly the bytes that git signs;
// MD5 and SHA-1 are refused in both kinds; a key must be valid now (not
// revoked, not expired); an SSH signature must be made for the namespace "git";
// a signature that cannot be parsed counts as none.
package signature
