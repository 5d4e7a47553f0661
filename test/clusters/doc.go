// Package clusters is the contract of the cluster templates in deploy/clusters: each template is
// judged by a real API server with the definitions of the providers, as tools/capi extracted
// them from their modules. Nothing of Cluster API runs here, so that its webhooks and
// controllers have no say; README.md of each template says what else is not proven.
package clusters
