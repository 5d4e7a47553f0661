// Package observe reads the metrics, logs and alerts of clusters for people: it knows where
// they are, which namespaces a person sees, and limits every query to these.
//
// An Observer resolves a question (Ask) into a Target: a Source, which is declared as a
// TelemetrySource or was found by the cluster's agent, and the Namespaces in which the cluster
// lets the caller read the logs of pods. Target.Get then asks the store, through the tunnel or
// by URL. Metrics are here as well (Query, Series, LabelValues, Panels); logs and alerts are
// built on Resolve and Get likewise.
//
// It authorizes nobody at the hub: hub/console has done so. It speaks neither the tunnel's
// protocol nor SQL: hub wires both.
//
// Invariants:
//   - Nothing is asked of a store before the cluster has said which namespaces the caller sees;
//     the answer holds for at most 30 s, and only while the cluster has a tunnel.
//   - What a caller who does not see the whole cluster asks goes through an enforcer, here or
//     in what is built on it. A store that knows many tenants is asked for nothing else.
//   - A secret is sent to the address that it was given for and to no other, follows no
//     redirect, and is in no text.
//   - Every answer is bounded in bytes, time and series; what is cut is counted and said.
package observe
