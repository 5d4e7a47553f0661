// Package storetest gives a test a real store: on SQLite, on Postgres, or on both.
//
// It holds nothing in memory in place of a database, and it knows no rows; what a part
// needs in them (clusters, services) is made by helpers of that part, such as
// hub/fleet/fleettest. Callers are the tests of hub/store and of the parts that keep
// rows in it. A TestMain calls Main.
//
// Invariants: each test has a database of its own. The tables are created once in a
// process and copied after that. Nothing waits for a disk: Postgres does not sync, and
// SQLite's files are in memory where the machine has room for them there. The end of a
// process loses no commit, the end of the machine does.
package storetest
