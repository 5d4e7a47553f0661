package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// foreign are marks by which Flux and Argo CD are told to treat an object otherwise, and that
// have no effect here. Somebody who moves from there must learn of it before it matters. All
// others of both tools are obeyed, or change nothing (docs/from).
var foreign = []struct {
	key    string
	value  string // both in lower case
	effect string
}{
	{"kustomize.toolkit.fluxcd.io/reconcile", "disabled", "it is applied and healed like any other; take it out of the service's files to keep it as it is"},
	{"kustomize.toolkit.fluxcd.io/ssa", "ignore", "it is applied and healed like any other; take it out of the service's files to keep it as it is"},
	{"kustomize.toolkit.fluxcd.io/ssa", "ifnotpresent", "it is applied also where it exists; ignore the fields that are set elsewhere (diffNormalizers)"},
	{"helm.toolkit.fluxcd.io/driftdetection", "disabled", "it is healed like any other; ignore the fields that are set elsewhere (diffNormalizers)"},
	{"argocd.argoproj.io/ignore-healthcheck", "true", "its health counts; a CustomHealth for its kind can decide otherwise"},
}

// marks counts the objects with each foreign mark without effect. A warning is made of each
// mark, not of each object.
type marks map[int]struct {
	first kubeobj.Ref
	count int
}

// note looks for foreign marks on an object. Flux reads labels and annotations.
func (m marks) note(ref kubeobj.Ref, object *unstructured.Unstructured) {
	for _, all := range []map[string]string{object.GetLabels(), object.GetAnnotations()} {
		for key, value := range all {
			m.noteOne(ref, strings.ToLower(key), strings.ToLower(strings.TrimSpace(value)))
		}
	}
}

func (m marks) noteOne(ref kubeobj.Ref, key, value string) {
	for i, f := range foreign {
		if key != f.key || value != f.value {
			continue
		}
		seen := m[i]
		if seen.count == 0 || ref.Compare(seen.first) < 0 {
			seen.first = ref
		}
		seen.count++
		m[i] = seen
	}
}

// problems returns the warnings, in the order of the table.
func (m marks) problems() (all []Problem) {
	for i, f := range foreign {
		seen, there := m[i]
		if !there {
			continue
		}
		more := ""
		if seen.count > 1 {
			more = fmt.Sprintf(" (and %d more objects)", seen.count-1)
		}
		all = append(all, Problem{Source: "apply", Ref: seen.first, Warning: true,
			Message: fmt.Sprintf("%s has %s: %s%s, which has no effect here: %s", seen.first, f.key, f.value, more, f.effect)})
	}
	return all
}
