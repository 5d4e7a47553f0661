// Package login is people's way in to the hub by a browser: the setup page of
// a new hub, login through OpenID Connect providers, by a local password with
// a second factor or by a passkey, the pages on which a person allows a
// command line, and the way out. Its pages are plain HTML; passkeys are the
// only script.
//
// It holds what belongs to HTTP and to the protocols: cookies, forms, the
// dance with a provider, limits. Who somebody is, what is kept and for how
// long is hub/identity's. hub mounts it; hub/console asks it whose session a
// call comes with. It decides nothing about what somebody may do.
//
// Invariants:
//   - A session is a cookie of this host alone: HttpOnly, SameSite=Lax, and
//     with https Secure under the prefix __Host-. A login makes a new one.
//   - Whatever changes something is a POST of this origin with a token that
//     follows from the cookie; a call of the API by cookie has it as a header.
//   - Nothing is kept of a login that has not succeeded: what a flow must
//     remember is sealed in a cookie of 10 min, and works once.
//   - An ID token is believed when its signature by a key of its issuer, its
//     audience, nonce and times (5 min of skew) are right, and its algorithm
//     is an asymmetric one that the issuer announced.
//   - Guesses are counted per account and source: 5 at once, then one in
//     30 s. Nobody elsewhere can use up the owner's, and a browser that has
//     logged in before has its own. 20,000 counters at most.
//   - ?next= leads to a path of this hub or to its first page.
package login
