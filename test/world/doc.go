// Package world starts everything on this machine: API servers on one etcd, a Git
// server, a hub and agents. All are the real programs in processes of their own, so
// that any of them can be killed, cut off and restarted. Tests check what is visible
// from outside: the CLI's output, the API servers, the Git server's log. cmd/dev
// starts the same world for people.
//
// It needs no *testing.T: Start takes a context and returns a World to Close. Nothing
// that it starts outlives this process, and everything listens on 127.0.0.1 only.
package world
