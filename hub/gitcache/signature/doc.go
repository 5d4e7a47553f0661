// Package signature checks who signed a Git commit or annotated tag: by
// OpenPGP or by an SSH key, against public keys that the user trusts.
//
// It reads bytes and nothing else: where objects come from, which of them must
// be signed and what a failure means is the git agent's business. It knows no
// web of trust, no key servers and no X.509.
//
// Invariants: a signature counts only over exactly the bytes that git signs;
// MD5 and SHA-1 are refused in both kinds; a key must be good now (not revoked,
// not expired); an SSH signature must be made for the namespace "git"; what
// cannot be read is not signed.
package signature
