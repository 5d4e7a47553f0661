// Package tracing follows one request through the hub: from an agent's poll or a
// tarball's download, through the replica that owns the repository, to the request to
// the upstream. It uses OpenTelemetry's API and, after Setup, sends spans to a
// collector by OTLP over HTTP.
//
// It names no component and holds no secrets: callers pass names and plain
// attributes, never URLs with users, tokens or values. Agents do not link it.
//
// Invariants: without Setup a span costs one atomic read and no allocation. If the
// collector is unavailable, spans are dropped and nobody waits: at most 2,048 are
// buffered in memory.
package tracing
