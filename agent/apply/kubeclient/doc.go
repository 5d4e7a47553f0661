// Package kubeclient sends the requests of agent/apply to the API server and knows which
// kinds it serves.
//
// It decides nothing about objects: agent/apply/ownership and agent/apply/prune do. All
// packages below agent/apply call it. Its errors say what to do.
//
// Invariants: requests wait at the gate, whose bound halves when the API server answers
// 429; each has a deadline of 30 s and is sent at most 6 times within 10 s; a delete
// names the uid and the version that were read; discovery runs at most every 5 s, and
// only for a kind that neither an inventory nor a CRD of a service names.
package kubeclient
