// Package health tells the health of an object of a cluster in the six words that the
// whole product uses: Healthy, Progressing, Degraded, Suspended, Missing and Unknown,
// each with a sentence for people.
//
// Built-in kinds are judged as users of Argo CD expect. Every other kind is judged by
// its conditions and generations, as kstatus does. A kind without a rule and without
// a status is Healthy once it exists. The package also combines the objects of a
// service into one word and packs the list of components for the hub: at most 64 KiB
// compressed; above that the worst 200 components and the counts of all.
//
// Users can write rules in Lua (see Lua and Rules). Such a script may use at most
// 500,000 instructions, 500 ms and 32 MiB. It reads the object and the clock, nothing
// else. Any error in it means Unknown. Of rules in CEL this package knows only the
// text (see Expressions): the render child evaluates them, on request of agent/drift.
//
// The rules of built-in kinds are in internal/kubehealth, which the hub uses too.
//
// It makes no requests. Its only state is the rules and the compiled scripts. Callers
// are the watches in agent/drift, the loop in agent/poll, and `axle-agent health`.
// Package agent reads the rules of users from the cluster.
package health
