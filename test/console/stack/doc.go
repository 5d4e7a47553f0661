// Package stack starts what the console's tests and pictures look at: a real hub that
// is filled in one of several ways, with people who can log in by password, and a
// control address on loopback, through which a test in the browser's process does what
// happens outside of the browser: a commit, a kubectl, a hub that ends. `dev console`
// and test/console start it; the tests themselves are in web/test.
//
//	Start (world or seed, passwords) ---> File (JSON for web/test) ---> Close
//
// Profiles: real has three API servers with real pods, two of them connected, a Git
// server and an OpenID Connect provider's place; the agent of the second is behind an
// ingress that can be told to let no tunnel through; the others are those of
// test/scale/seed, with simulated clusters.
//
// Invariants: after an error nothing keeps running; the control address answers only
// who has its key.
package stack
