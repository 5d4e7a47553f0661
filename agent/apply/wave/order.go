package wave

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// Annotations on rendered objects that the engine reads. Without ours, those of Argo
// CD, Helm and Plural are used, so that existing charts work.
const (
	// WaveAnnotation holds a number; lower waves are applied first.
	WaveAnnotation = "axle-cd.github.io/sync-wave"
	// RecreateAnnotation "true" allows deleting and recreating an object when an
	// immutable field has changed.
	RecreateAnnotation = "axle-cd.github.io/recreate"
	// PruneAnnotation "true" allows pruning of kinds that are kept by default;
	// "false" keeps an object for ever.
	PruneAnnotation = kubeobj.PruneAnnotation
	// SharedAnnotation "true" leaves the fields that others wrote to an object that
	// the service takes over, and that it does not render.
	SharedAnnotation = "axle-cd.github.io/shared"
)

// Stages, in the order in which they are applied. Waves order objects within a stage.
const (
	stageNamespaces = iota
	stageDefinitions
	stageClasses
	StageBefore
	StageMain
	StageAfter
	// StageFail follows a failure, stageLeave belongs to a drain; a successful pass
	// applies neither.
	StageFail
	StageLeave
)

// Order is the position of an object in the order of a pass.
type Order struct {
	Stage int
	Wave  int
}

// Before reports whether an object at p is applied before one at q.
func (p Order) Before(q Order) bool {
	return p.Stage < q.Stage || p.Stage == q.Stage && p.Wave < q.Wave
}

var CRDKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// OrderOf returns the position of an object.
func OrderOf(object *unstructured.Unstructured, kind kubeobj.Kind, when Moment) Order {
	return Order{Stage: stageOf(kind, when), Wave: waveOf(object.GetAnnotations(), kind)}
}

func stageOf(kind kubeobj.Kind, when Moment) int {
	switch {
	case when == MomentFail:
		return StageFail
	case when == MomentLeaving, when == MomentLeft:
		return StageLeave
	case kind.Group == "" && kind.Kind == "Namespace":
		return stageNamespaces
	case kind.GroupKind() == CRDKind:
		return stageDefinitions
	case !kind.Namespaced && strings.HasSuffix(kind.Kind, "Class"):
		return stageClasses
	case when == momentBefore:
		return StageBefore
	case when == momentAfter:
		return StageAfter
	}
	return StageMain
}

func waveOf(annotations map[string]string, kind kubeobj.Kind) int {
	for _, key := range []string{WaveAnnotation, "deployment.plural.sh/sync-wave", "argocd.argoproj.io/sync-wave", "helm.sh/hook-weight"} {
		if n, err := strconv.Atoi(strings.TrimSpace(annotations[key])); err == nil {
			return n
		}
	}
	return defaultWave(kind)
}

// defaultWave orders by kind: prerequisites come first.
func defaultWave(kind kubeobj.Kind) int {
	if !kind.Namespaced {
		return 0
	}
	switch kind.Group {
	case "":
		switch kind.Kind {
		case "ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim", "LimitRange", "ResourceQuota":
			return 1
		case "Pod", "ReplicationController":
			return 2
		case "Service", "Endpoints":
			return 3
		}
	case "rbac.authorization.k8s.io":
		return 1
	case "apps", "batch":
		return 2
	case "networking.k8s.io", "discovery.k8s.io", "gateway.networking.k8s.io":
		return 3
	}
	return 4
}

// RunsOnce reports whether an object does its work and ends, so that it is not
// recreated when it is gone.
func RunsOnce(object *unstructured.Unstructured, kind kubeobj.Kind, h Hook) bool {
	return h.Runs || endsByItself(object, kind)
}

// MayRecreate reports whether an object may be deleted and created again when an
// immutable field changed.
func MayRecreate(annotations map[string]string, h Hook) bool {
	return h.Runs || annotations[RecreateAnnotation] == "true" || strings.EqualFold(annotations["kustomize.toolkit.fluxcd.io/force"], "enabled") ||
		kubeobj.SyncOption(annotations, "Force=true") || kubeobj.SyncOption(annotations, "Replace=true")
}

// SharesOf reports whether fields that others wrote to an object stay when it is taken over,
// as Flux leaves them to an object that it merges into.
func SharesOf(labels, annotations map[string]string) bool {
	const flux = "kustomize.toolkit.fluxcd.io/ssa"
	return annotations[SharedAnnotation] == "true" || strings.EqualFold(annotations[flux], "merge") || strings.EqualFold(labels[flux], "merge")
}

// Pruning is what an object's annotations say about its removal.
type Pruning int

const (
	pruneByKind Pruning = iota
	PruneAlways
	PruneNever
	// PruneConfirmed is deleted once a person released the prune.
	PruneConfirmed
)

// PruningOf reads what the labels and annotations say about the object's removal.
func PruningOf(labels, annotations map[string]string) Pruning {
	switch {
	case annotations[PruneAnnotation] == "true":
		return PruneAlways
	case kubeobj.Kept(labels, annotations):
		return PruneNever
	case kubeobj.SyncOption(annotations, "Prune=confirm"), kubeobj.SyncOption(annotations, "Delete=confirm"):
		return PruneConfirmed
	}
	return pruneByKind
}

// KeptKinds are kinds whose content cannot be recreated: other objects or data.
var KeptKinds = map[schema.GroupKind]bool{
	{Kind: "Namespace"}:                             true,
	{Kind: "PersistentVolume"}:                      true,
	{Kind: "PersistentVolumeClaim"}:                 true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}: true,
	CRDKind: true,
}
