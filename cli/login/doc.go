// Package login makes the commands with which somebody becomes known to a hub and
// ends that: axle login, logout, whoami and sessions.
//
// Accounts, providers and tokens of others are cli/access's. The file of contexts
// is cli/command's, the browser's answer is taken by cli/signin. Package cli calls it.
//
// Invariant: a context is stored only after the hub accepted its token.
package login
