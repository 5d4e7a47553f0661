// Package federation verifies tokens that other issuers signed, such as those
// that a CI system gives to its jobs. It fetches an issuer's keys through
// OpenID discovery, caches them, and verifies signature, issuer, audience and
// times.
//
// It does not decide what a token may be used for; hub/identity does, and calls
// Verify. It opens connections only with the HTTP client that it is given.
//
// Invariants: only asymmetric algorithms are accepted; an issuer's keys are
// fetched at most once in 30 s, however many forged tokens come, and once an
// hour to notice changes; a fetch ends within 10 s and reads at most 1 MiB;
// fetched keys stay valid for 24 h when the issuer does not answer.
package federation
