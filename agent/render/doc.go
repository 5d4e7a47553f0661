// Package render turns a service's unpacked files into objects with the render child,
// a separate confined program (axle-render).
//
// The runner keeps a pool of at most two children of one project, and a third for
// others: projects have turns. A child serves passes of one
// project, one after the other, for at most 100 passes or 60 s. It is thrown away
// after a failed pass, after a limit, or when another project needs its slot. A pass
// is killed after 30 s of processor time, and after 5 min in all. A child that grows
// beyond 512 MiB dies by itself. A template that loops or allocates without end
// therefore costs only its own pass, and the next pass works.
//
// Beside the pool there can be one child that evaluates health rules in CEL (see
// Runner.Judge). It renders nothing, ends 15 s after its last batch, and exists only
// while there are such rules.
//
// The runner reads files inside the given folder only, follows no links itself, and
// answers the child's lookups with the caller's Lookup, read-only. It applies nothing
// and uses no Kubernetes library. The agent's loop calls it between the cache and
// apply.
package render
