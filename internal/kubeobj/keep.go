package kubeobj

import "strings"

// PruneAnnotation says whether an object may be pruned: "true" also where its kind is kept by
// default, "false" never.
const PruneAnnotation = "axle-cd.github.io/prune"

// Kept reports whether the labels and annotations of an object forbid the tool that deploys it
// to delete it: our annotation, and those of Argo CD, Plural, Helm and Flux, which reads labels
// too. Our annotation "true" is stronger than all of them.
func Kept(labels, annotations map[string]string) bool {
	const flux = "kustomize.toolkit.fluxcd.io/prune"
	switch {
	case annotations[PruneAnnotation] == "true":
		return false
	case annotations[PruneAnnotation] == "false", annotations["helm.sh/resource-policy"] == "keep",
		strings.EqualFold(annotations[flux], "disabled"), strings.EqualFold(labels[flux], "disabled"):
		return true
	}
	return SyncOption(annotations, "Prune=false") || SyncOption(annotations, "Delete=false")
}

// SyncOption reports whether an object's list of sync options, which Argo CD and Plural read,
// has an option such as Replace=true.
func SyncOption(annotations map[string]string, option string) bool {
	for _, key := range []string{"argocd.argoproj.io/sync-options", "deployment.plural.sh/sync-options"} {
		for one := range strings.SplitSeq(annotations[key], ",") {
			if strings.EqualFold(strings.TrimSpace(one), option) {
				return true
			}
		}
	}
	return false
}
