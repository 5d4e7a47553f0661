// Package access makes the commands about who may do what: axle projects, users,
// groups, serviceaccounts, tokens, auth, federation and providers.
//
// It decides nothing: the hub checks each right. Logging in oneself is cli/login's.
// Package cli calls it.
//
// Invariants: a secret that the hub made is printed once, to standard output. A
// secret is read from a file, standard input or a prompt, never from an argument.
package access
