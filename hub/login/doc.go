// Package login serves the hub's login in a browser: the setup page of a new
// hub, login through OpenID Connect providers, with a local password and a
// second factor or with a passkey, the pages on which a person approves a
// command line, and logout. Its pages are plain HTML; passkeys are the only
// script.
//
// It handles HTTP and the login protocols: cookies, forms, the OpenID Connect
// flow, rate limits. hub/identity/account decides who a person is, and what is
// stored for how long. hub mounts it; hub/console asks it which session a call
// belongs to. It does not authorize.
//
// Invariants:
//   - A session is a host-only cookie: HttpOnly, SameSite=Lax, and with https
//     Secure under the prefix __Host-. A login makes a new one.
//   - Every change is a same-origin POST with a token that is derived from the
//     cookie; an API call with a cookie sends that token as a header.
//   - Nothing is stored for a login that has not succeeded: the state of a flow
//     is sealed in a cookie that lives 10 min and works once.
//   - An ID token is accepted when its signature by a key of its issuer, its
//     audience, nonce and times (5 min of skew) are valid, and its algorithm is
//     an asymmetric one that the issuer announced.
//   - Guesses are counted per account and source: 5 at once, then one in 30 s.
//     Guesses from another source cannot use up the owner's attempts, and a
//     browser that has logged in before has its own counter. There are at most
//     20,000 counters.
//   - ?next= leads only to a path of this hub, otherwise to its first page.
package login
