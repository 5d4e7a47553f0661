// Package pg runs a real Postgres server for tests: one for a test binary, on
// a folder of its own that goes away with it, and a fresh database a test by
// copying a template, which costs some tens of milliseconds. The folder is in
// memory where /dev/shm has 4 GiB to spare and TMPDIR says nothing else.
//
// It is not for data that matters: the server does not sync to disk. It listens
// on 127.0.0.1 and on a socket in its folder. Callers are the tests of
// hub/store, hub/peer, hub/hubtest and the test world.
//
// What holds: the server and all its processes end with the process that
// started them, even one ended by SIGKILL; a server that is not ready within
// 60 s is an error that quotes the end of its log; programs that are missing
// are an error that names the command which installs them.
package pg
