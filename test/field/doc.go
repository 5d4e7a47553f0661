// Package field plays reports from the field: one folder a case, with what happened in
// case.yaml and what has to be true then in want.yaml. One test runs all of them with a
// real hub, a real agent, a real Git server and a real API server with its controllers.
// README.md says how to add a case.
//
// Each case has a namespace and a service of its own, and all run at the same time.
package field
