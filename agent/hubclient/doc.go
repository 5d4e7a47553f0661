// Package hubclient is the agent's end of the agent protocol: the conditional
// poll, specs, tarballs, reports, and the life of the deploy token.
//
// It decides one thing only: whether an answer can be trusted. An answer that cannot
// is returned as an *AnswerError with a reason for people; the caller then keeps what
// it has. The package stores nothing and applies nothing. agent wires it to
// agent/poll, and the simulated fleets of test/scale use thousands of clients.
//
// Invariants:
//   - an answer older than its request asked for is dropped, and so is a list or a
//     spec older than one already accepted, in whatever order replicas answer; only a
//     signed list moves a client to another incarnation, and only to a newer one;
//   - lists and specs are accepted only with the signature of a pinned key, for this
//     cluster; the next poll reports a rejected one to the hub;
//   - only 200 and 304 from the hub itself count; redirects, errors and the page of a
//     captive portal mean that the client keeps what it has;
//   - every call has a deadline, at most 3 attempts with full jitter, and a bounded
//     body; an interrupted download resumes at the byte where it stopped;
//   - a poll without changes allocates no body and starts no goroutine, and many
//     clients can share one transport.
package hubclient
