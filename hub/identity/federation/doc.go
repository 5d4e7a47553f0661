// Package federation accepts tokens that other issuers signed, such as those
// that a CI system gives to its jobs. Trusts say which of them act as which
// service account, and exchange them for tokens of the hub. Issuers fetches an
// issuer's keys through OpenID discovery, caches them, and verifies signature,
// issuer, audience and times.
//
// Operator lets one ServiceAccount of the hub's own cluster log in, whose tokens a
// Reviewer verifies with a TokenReview.
//
// hub/console calls Trusts. It does not decide what an exchanged token may be
// used for; hub/identity does. It opens connections only with the HTTP client
// that it is given.
//
// Invariants: a token is exchanged once, for one that lives at most 1 h; that of the
// operator any number of times, for one that lives at most 1 min; only
// asymmetric algorithms are accepted; an issuer's keys are
// fetched at most once in 30 s, however many forged tokens come, and once an
// hour to notice changes; a fetch ends within 10 s and reads at most 1 MiB;
// fetched keys stay valid for 24 h when the issuer does not answer.
package federation
