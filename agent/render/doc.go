// Package render turns a service's unpacked files into objects by way of the
// render child, a separate confined program (axle-render).
//
// The runner keeps a pool of at most two children. A child serves passes of
// one project in turn, at most 100 or 60 s of life, and is thrown away after a
// failed pass, a limit, or when another project wants its place. A pass is
// killed after 30 s of processor time, and after 5 min in all; a child that
// outgrows 512 MiB dies by itself. So a
// template that loops or allocates without end costs its own pass only, and
// the next one works.
//
// Beside the pool there may be one child that judges objects by rules of health
// in CEL (see Runner.Judge). It renders nothing, ends 15 s after its last batch,
// and is not there while no such rule is.
//
// The runner reads files inside the given folder and nowhere else, follows no
// link itself, and answers the child's lookups through the caller's Lookup,
// read only. It applies nothing and knows no Kubernetes library; the loop of
// the agent calls it between the cache and apply.
package render
