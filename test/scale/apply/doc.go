// Package apply measures a real agent on a real API server: what it takes to
// install, leave alone, upgrade and heal services, beside Flux doing the same on
// the same API server in the same run. `dev bench-apply` calls Measure, and
// `dev bench` calls Install, which measures the agent alone.
//
// Invariants:
//   - requests are counted from the API server's audit log, by user;
//   - CPU of the agent includes its render children;
//   - only one of the agent and its peers runs at a time.
package apply
