// Package federation checks tokens that others issued, as a CI gives them to its
// jobs: it fetches an issuer's keys as OpenID discovery has them, keeps them,
// and verifies signature, issuer, audience and times.
//
// It does not decide what a token is good for; hub/identity does, which calls
// Verify. It connects only as the client that it is given does.
//
// Invariants: only asymmetric algorithms count; an issuer is asked for its
// keys at most once in 30 s, however many forged tokens come, and once an hour
// for a change; a fetch ends within 10 s and reads at most 1 MiB; keys that
// were fetched are good for 24 h when the issuer does not answer.
package federation
