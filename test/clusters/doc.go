// Package clusters is the contract of the cluster templates in deploy/clusters: each template is
// judged by a real API server with the definitions of the providers, as tools/capi extracted
// them from their modules, and by the webhooks of Cluster API's core manager, which runs beside
// it. Nothing of the providers runs; README.md of each template says what else is not proven.
package clusters
