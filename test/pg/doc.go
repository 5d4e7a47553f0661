// Package pg runs a real Postgres server for tests: one per test binary, in its own
// temporary folder, and a fresh database per test by copying a template, which takes
// some tens of milliseconds. The folder is in memory if /dev/shm has 4 GiB free and
// TMPDIR is not set. What initdb makes is kept in the user's cache and copied.
//
// It is not for data that matters: the server does not sync to disk. It listens on
// 127.0.0.1 and on a socket in its folder. Callers are hub/store/storetest and the tests of
// hub/store, hub/peer, hub/hubtest and test/world.
//
// Invariants: the server and all its processes end with the process that started
// them, even one ended by SIGKILL. A server that is not ready within 60 s is an error
// that quotes the end of its log. A missing program is an error that names the
// command to install it.
package pg
