// Package kubehealth says how well objects of Kubernetes' own kinds are, by their
// status alone, as Argo CD judges them: by its engine, and by its scripts for
// CronJob, CustomResourceDefinition and PodDisruptionBudget. docs/health.md names
// where we differ.
//
// It is what agent and hub must agree on: agent/health has these rules behind
// those of users and before kstatus, and internal/ownertree judges by them what
// a service's objects own. It sends no request and keeps nothing. Of
// anybody else's kinds it knows Argo's Workflow, which that engine judges, too.
package kubehealth
