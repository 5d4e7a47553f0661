// Package world starts everything at once on this machine: API servers on one
// etcd, a Git server, a hub, and agents, all of them the real programs as
// processes of their own, so that any of them can be killed, cut off and
// started again. Tests judge what they see from outside: the CLI's output, the
// API servers, the Git server's log. cmd/dev starts the same world for people.
//
// It needs no *testing.T: Start takes a context and gives a World to Close.
// Nothing it starts outlives this process, and everything listens on
// 127.0.0.1 alone.
package world
