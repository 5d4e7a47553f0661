// Package telemetry has what hub and agent both know of the stores of metrics, logs and
// alerts: their types, the paths and parameters of their APIs that may be asked, and what
// a request may cost.
//
// It makes no request. The hub checks a request before it leaves, and the agent checks it
// again before its API server passes it on: an agent does not take a hub's word for it.
//
// Invariants: every listed path reads; a path that is not listed is refused, as is a
// parameter, so that nobody passes a store an option that widens a query (extra_filters of
// VictoriaMetrics, say).
package telemetry
