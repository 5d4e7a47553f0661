// Package kubehealth tells the health of objects of Kubernetes' own kinds from their
// status, as Argo CD does: its engine, and its scripts for CronJob,
// CustomResourceDefinition and PodDisruptionBudget. docs/health.md lists the
// differences.
//
// Agent and hub must agree on these rules. agent/health applies them after the rules
// of users and before kstatus, and internal/ownertree judges with them the objects
// that a service's objects own. The package makes no requests and keeps nothing. Of
// foreign kinds it knows only Argo's Workflow, because Argo CD's engine judges it
// too.
package kubehealth
