// Package health says how well an object of a cluster is, in the six words that
// the whole product uses: Healthy, Progressing, Degraded, Suspended, Missing
// and Unknown, each with a sentence for a person.
//
// Built-in kinds are judged as Argo CD's users expect it; every other kind by
// its conditions and generations, as kstatus does. Kinds without any rule of
// their own and without a status are Healthy once they exist. The package also
// rolls the objects of a service up into one word and packs the list of
// components for the hub: at most 64 KiB compressed, then the worst 200 and
// the counts of all.
//
// Users write rules of their own in Lua, see Lua and Rules. Such a script costs
// at most 500,000 instructions, 500 ms and 32 MiB; it reads the object and the
// clock, nothing else; and whatever goes wrong in it is Unknown. Rules in CEL are
// known here by their text alone, see Expressions: the render child judges by
// them, and agent/drift asks it.
//
// The rules of built-in kinds are in internal/kubehealth, which the hub has, too.
//
// It sends no request; its only state is the rules and the compiled scripts.
// Callers are the watches in agent/drift, the loop in agent/poll, and
// `axle-agent health`. Package agent reads the rules of users from the cluster.
package health
