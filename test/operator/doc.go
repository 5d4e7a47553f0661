// Package operator tests the operator against a real API server with all CRDs and a
// real hub. Between operator and hub is a gate, which counts the calls, and cuts them
// for the tests of faults. It needs kubedev (make kubedev) and runs no agent.
package operator
