package ownertree

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind whose objects may be owned.
type kind struct {
	schema.GroupVersionKind
	resource string
}

// kinds are the kinds to list, each after all kinds that may own it.
var kinds = []kind{
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments"},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets"},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}, "daemonsets"},
	{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "cronjobs"},
	{schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "AnalysisRun"}, "analysisruns"},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "replicasets"},
	{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods"},
}

// Kinds by their index in the list.
const (
	deployments = 1 << iota
	statefulSets
	daemonSets
	cronJobs
	analysisRuns
	replicaSets
	jobs
	pods

	workloads = deployments | statefulSets | daemonSets | cronJobs | jobs
)

var (
	helmRelease = schema.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}
	rollout     = schema.GroupKind{Group: "argoproj.io", Kind: "Rollout"}
)

// owned are the kinds that objects of built-in kinds may own, over all generations.
var owned = map[schema.GroupKind]int{
	{Group: "apps", Kind: "Deployment"}:         replicaSets | pods,
	{Group: "apps", Kind: "StatefulSet"}:        pods,
	{Group: "apps", Kind: "DaemonSet"}:          pods,
	{Group: "apps", Kind: "ReplicaSet"}:         pods,
	{Kind: "ReplicationController"}:             pods,
	{Group: "batch", Kind: "Job"}:               pods,
	{Group: "batch", Kind: "CronJob"}:           jobs | pods,
	rollout:                                     analysisRuns | replicaSets | jobs | pods,
	{Group: "argoproj.io", Kind: "AnalysisRun"}: jobs | pods,
}

// ownedBy are the kinds that an object may own. An object of a custom kind may own
// any workload.
func ownedBy(o Object) int {
	gk := schema.GroupKind{Group: o.Group, Kind: o.Kind}
	if these, known := owned[gk]; known {
		return these
	}
	if strings.Contains(o.Group, ".") && !strings.HasSuffix(o.Group, ".k8s.io") {
		return workloads | replicaSets | pods
	}
	return 0
}

// path is the API path of a namespace's list of the kind.
func (k kind) path(namespace, more string) string {
	query := url.Values{"limit": {pageSize}}
	if more != "" {
		query.Set("continue", more)
	}
	return objectPath(k.GroupVersion(), namespace, k.resource, "") + "?" + query.Encode()
}

func objectPath(gv schema.GroupVersion, namespace, resource, name string) string {
	path := "/api/" + gv.Version
	if gv.Group != "" {
		path = "/apis/" + url.PathEscape(gv.Group) + "/" + url.PathEscape(gv.Version)
	}
	path += "/namespaces/" + url.PathEscape(namespace) + "/" + resource
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}
