package provider

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// version is that of all kinds.
const version = "v1alpha1"

// kind is one of the provider's.
type kind struct {
	group, name  string
	spec, status map[string]any // the fields, as schemas
}

const infrastructure = "infrastructure.cluster.x-k8s.io"

var (
	bedCluster = kind{infrastructure, "BedCluster",
		map[string]any{"region": text, "controlPlaneEndpoint": endpoint},
		status("provisioned", nil)}
	bedMachine = kind{infrastructure, "BedMachine",
		map[string]any{"machineType": text, "providerID": text},
		status("provisioned", map[string]any{"addresses": list(object(map[string]any{"type": text, "address": text}))})}
	bedControlPlane = kind{"controlplane.cluster.x-k8s.io", "BedControlPlane",
		map[string]any{"version": text, "controlPlaneEndpoint": endpoint},
		status("controlPlaneInitialized", map[string]any{"version": text, "externalManagedControlPlane": boolean})}
	bedConfig = kind{"bootstrap.cluster.x-k8s.io", "BedConfig",
		map[string]any{},
		status("dataSecretCreated", map[string]any{"dataSecretName": text})}
)

// status has what the contract asks of every kind: a field that is true from when it was
// first ready, and conditions.
func status(initialized string, more map[string]any) map[string]any {
	fields := map[string]any{"initialization": object(map[string]any{initialized: boolean}), "conditions": list(condition)}
	maps.Copy(fields, more)
	return fields
}

// machine is the kind of the core that the provider reads.
var machine = kind{group: "cluster.x-k8s.io", name: "Machine"}

func (k kind) resource() schema.GroupVersionResource {
	r := schema.GroupVersionResource{Group: k.group, Version: version, Resource: strings.ToLower(k.name) + "s"}
	if k.name == machine.name {
		r.Version = "v1beta2"
	}
	return r
}

// The schemas that fields are made of.
var (
	text      = map[string]any{"type": "string"}
	boolean   = map[string]any{"type": "boolean"}
	integer   = map[string]any{"type": "integer"}
	labels    = map[string]any{"type": "object", "additionalProperties": text}
	endpoint  = object(map[string]any{"host": text, "port": integer})
	condition = object(map[string]any{
		"type": text, "status": text, "reason": text, "message": text, "observedGeneration": integer,
		"lastTransitionTime": map[string]any{"type": "string", "format": "date-time"},
	})
)

func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties}
}

func list(items map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": items}
}

// Definitions are those of all kinds and of their templates. They are strict: a field that
// no kind has is refused.
func Definitions() (all []*unstructured.Unstructured) {
	for _, k := range []kind{bedCluster, bedMachine, bedControlPlane, bedConfig} {
		all = append(all,
			definition(k.group, k.name, map[string]any{"spec": object(k.spec), "status": object(k.status)}),
			definition(k.group, k.name+"Template", map[string]any{"spec": object(map[string]any{"template": object(map[string]any{
				"metadata": object(map[string]any{"labels": labels, "annotations": labels}), "spec": object(k.spec),
			})})}))
	}
	return all
}

func definition(group, name string, fields map[string]any) *unstructured.Unstructured {
	plural := strings.ToLower(name) + "s"
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group, "labels": map[string]any{
			// The core finds the version for its contract, and clusterctl the provider's kinds.
			"cluster.x-k8s.io/v1beta2": version, "cluster.x-k8s.io/provider": "bed",
		}},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": name, "listKind": name + "List", "plural": plural, "singular": strings.ToLower(name), "categories": []any{"cluster-api"}},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema":       map[string]any{"openAPIV3Schema": object(fields)},
			}},
		},
	}}
}
