// Package kubehealth says how well objects of Kubernetes' own kinds are, by their
// status alone, as users of Argo CD expect it.
//
// It is what agent and hub must agree on: agent/health has these rules behind
// those of users and before kstatus, and internal/ownertree judges by them what
// a service's objects own. It sends no request, keeps nothing and knows no
// kind of anybody else's.
package kubehealth
