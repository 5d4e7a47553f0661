// Package hubclient is the agent's end of the agent protocol: the conditional
// poll, specs, tarballs, reports, and the life of the deploy token.
//
// It decides one thing only: whether an answer may be believed. What may not
// comes back as an *AnswerError that says why in a person's words, and means
// that the caller holds what it has. It stores nothing and applies nothing;
// agent wires it to agent/poll, and the simulated fleets of test/scale use it
// by the thousand.
//
// Invariants:
//   - an answer that is older than what its request asked for is dropped, and
//     so is a list or a spec that is older than one already taken, in whatever
//     order replicas answer; only a signed list moves a client to another
//     incarnation, and only to a newer one;
//   - a list and specs are taken only with the signature of a pinned key, for
//     this cluster; what is refused the next poll tells the hub;
//   - nothing but 200 and 304 of the hub itself means anything: redirects,
//     refusals and a captive portal's page are reasons to hold;
//   - every call has a deadline, at most 3 attempts with full jitter, and a
//     bounded body; a download resumes at the byte where it was cut;
//   - a poll that finds nothing allocates no body and starts no goroutine, and
//     many clients may share one transport.
package hubclient
