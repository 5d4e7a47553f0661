// Package skew holds what released versions wrote and said, as bytes, and tests that
// this tree still understands it: a hub of today serves the recorded requests of older
// agents from their hub's own database, an agent of today takes the recorded answers of
// older hubs, and older databases, backups and agents' folders are opened.
//
// testdata/MINOR is the record of version MINOR of the schema. A record of a released
// version never changes; testdata/released lists them. What is not released yet is
// recorded anew, with -update, whenever a format changes: without that its test fails.
// Five records are kept: N-3 to N, and the one that is not released.
//
// It does not cover tarballs (docs/spec has vectors of digests), what flows through a
// tunnel after its first frame, rows of Postgres (the migrations are the same files), and
// the inventory in a cluster (agent/apply/inventory refuses a newer format itself).
package skew
