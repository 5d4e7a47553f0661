// Package hubproc runs a hub as processes for the benchmarks of test/scale: one
// replica on SQLite, or several on a Postgres of their own. It measures their
// CPU and memory, reads their metrics, and kills and starts replicas again. It
// does not use the hub: test/scale/people does.
//
// Invariants:
//   - CPU and memory of a replica include its children;
//   - memory is sampled once a second from Start to Close;
//   - Close ends every process that Start and Again started, within 20 s each.
package hubproc
