package apply

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
	PruneAnnotation = "axle-cd.github.io/prune"
)

// Stages, in the order in which they are applied. Waves order objects within a stage.
const (
	stageNamespaces = iota
	stageDefinitions
	stageClasses
	stageBefore
	stageMain
	stageAfter
	// stageFail follows a failure, stageLeave belongs to a drain; a successful pass
	// applies neither.
	stageFail
	stageLeave
)

// order is the position of an object in the order of a pass.
type order struct {
	Stage int
	Wave  int
}

func (p order) before(q order) bool {
	return p.Stage < q.Stage || p.Stage == q.Stage && p.Wave < q.Wave
}

var crdKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

func orderOf(object *unstructured.Unstructured, kind kubeobj.Kind, when moment) order {
	return order{Stage: stageOf(kind, when), Wave: waveOf(object.GetAnnotations(), kind)}
}

func stageOf(kind kubeobj.Kind, when moment) int {
	switch {
	case when == momentFail:
		return stageFail
	case when == momentLeaving, when == momentLeft:
		return stageLeave
	case kind.Group == "" && kind.Kind == "Namespace":
		return stageNamespaces
	case kind.GroupKind() == crdKind:
		return stageDefinitions
	case !kind.Namespaced && strings.HasSuffix(kind.Kind, "Class"):
		return stageClasses
	case when == momentBefore:
		return stageBefore
	case when == momentAfter:
		return stageAfter
	}
	return stageMain
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

// runsOnce reports whether an object does its work and ends, so that it is not
// recreated when it is gone.
func runsOnce(object *unstructured.Unstructured, kind kubeobj.Kind, h hook) bool {
	return h.runs || endsByItself(object, kind)
}

// option reports whether an Argo or Plural list of sync options has an option.
func option(annotations map[string]string, name string) bool {
	for _, key := range []string{"argocd.argoproj.io/sync-options", "deployment.plural.sh/sync-options"} {
		for one := range strings.SplitSeq(annotations[key], ",") {
			if strings.EqualFold(strings.TrimSpace(one), name) {
				return true
			}
		}
	}
	return false
}

func mayRecreate(annotations map[string]string, h hook) bool {
	return h.runs || annotations[RecreateAnnotation] == "true" ||
		option(annotations, "Force=true") || option(annotations, "Replace=true")
}

// pruning is what an object's annotations say about its removal.
type pruning int

const (
	pruneByKind pruning = iota
	pruneAlways
	pruneNever
)

func pruningOf(annotations map[string]string) pruning {
	switch {
	case annotations[PruneAnnotation] == "true":
		return pruneAlways
	case annotations[PruneAnnotation] == "false", option(annotations, "Prune=false"), option(annotations, "Delete=false"),
		annotations["helm.sh/resource-policy"] == "keep":
		return pruneNever
	}
	return pruneByKind
}

// keptKinds are kinds whose content cannot be recreated: other objects or data.
var keptKinds = map[schema.GroupKind]bool{
	{Kind: "Namespace"}:                             true,
	{Kind: "PersistentVolume"}:                      true,
	{Kind: "PersistentVolumeClaim"}:                 true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}: true,
	crdKind: true,
}
