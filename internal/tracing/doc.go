// Package tracing follows one request through the hub: from an agent's poll or
// a tarball's download, over the replica that owns the repository, to the look
// at upstream. It speaks OpenTelemetry's API and, once Setup was called, sends
// spans to a collector by OTLP over HTTP.
//
// It names no component and holds no secrets: callers give names and plain
// attributes, never URLs with users, tokens or values. Agents do not link it.
//
// Invariants: without Setup a span costs one atomic read and no allocation; a
// collector that is away costs dropped spans, never a wait: at most 2,048 wait
// in memory.
package tracing
