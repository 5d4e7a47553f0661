// Package login makes the commands with which somebody becomes known to a hub and
// ends that: axle login, logout, whoami and sessions.
//
// Accounts, providers and tokens of others are cli/access's. The file of contexts
// is cli/command's. Package cli calls it.
//
// Invariants: a context is stored only after the hub accepted its token. A browser
// has 10 minutes to answer, on a port of the loopback interface; only an answer with
// the state of this login counts, and the code in it is useless without a verifier
// that never leaves the process.
package login
