// Package proxy measures what it costs to use a cluster's API through hub and
// agent: requests, bodies, commands and watches, beside the API server itself and
// beside the tunnels of others, and what many idle agents cost the hub. `dev
// bench-proxy` calls Measure.
//
// Invariants:
//   - hub, agent and API server are processes of their own, and the client's CPU is
//     never counted;
//   - CPU and rates are medians of seven rounds after a warm-up.
package proxy
