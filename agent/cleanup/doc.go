// Package cleanup removes what a cluster that is being destroyed holds at providers: load
// balancers, Ingresses, Gateways and volumes, whoever made them. Their controllers run in the
// cluster, and with the machines they would be gone.
//
//	hub's list: destroying --Set--> refuse new ones, delete those there are, wait for each
//	what is left, with its wait --> hub: ReportCleanup, when it changes
//	nothing left, twice in a row --> hub: done
//	the list says that the cluster stays, or the hub knows it no more --> refuse no longer
//
// agent/poll passes on what the list says, agent runs it. It removes no machines: those go
// with the Cluster object, on the management cluster, after the report that it is done.
//
// Invariants: nothing is deleted before the signed list says so and the hub took a report of
// this start, nor while the hub refuses the cluster, which may have left it with its machines.
// What cannot be read counts as
// left. Nothing is kept on disk: each pass begins with what is in the cluster, so a kill at
// any point is repaired by the next start. A volume that its reclaim policy retains stays, and
// so does its claim.
package cleanup
