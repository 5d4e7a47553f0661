// Package supportbundle writes what somebody needs who helps with a hub into one file:
// axle hub support-bundle. It has the hub's own answers and, with the kubeconfig of the
// hub's cluster, pods, events, logs and metrics. Package cli/hub adds the command.
//
// It changes nothing and sends nothing anywhere.
//
// Invariants:
//   - No secrets: the API shows none, specs of services and environment variables of
//     pods are left out, and tokens are removed from logs.
//   - A part that cannot be read is named in errors.txt, and the others are written.
//   - A log has at most 5 MiB, any other part 64 MiB; a call ends after 30 s.
package supportbundle
