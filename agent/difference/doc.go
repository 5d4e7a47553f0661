// Package difference describes what an apply would change in a form that may leave
// the cluster: YAML without the fields that the API server writes, and with keyed
// hashes in place of the values of Secrets, also where other objects repeat them.
// agent/apply computes the objects and agent/poll sends the result. This package
// makes no requests and does not decide what an apply does.
//
// A text is at most 32 KiB, a report 64 KiB compressed; what does not fit is counted.
// Hashes can be compared within one life of the agent process. The key prevents
// others from guessing values.
package difference
