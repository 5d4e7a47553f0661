package write

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// deployers are prefixes of the field managers that write whole manifests. An
// adoption takes over their fields, so that fields later dropped from Git are
// removed.
var deployers = []string{"kubectl", "helm", "Helm", "before-first-apply", "argocd-controller", "argocd-application-controller",
	"kustomize-controller", "helm-controller", "application/apply-patch", "fleetagent", "fleet-agent", "axle-agent"}

// IsDeployer reports whether a manager deploys manifests.
func IsDeployer(manager string) bool {
	for _, d := range deployers {
		if rest, ok := strings.CutPrefix(manager, d); ok && (rest == "" || rest[0] == '-' || rest[0] == '/' || rest[0] == '.') {
			return true
		}
	}
	return false
}

// takeOver returns the JSON patch that merges the field entries of some managers into
// ours, with the fields of DataOf, conditional on the object's version. It is nil if
// there is nothing to merge.
func takeOver(ref kubeobj.Ref, meta *metav1.PartialObjectMetadata, data *fieldpath.Set, theirs func(manager string) bool) ([]byte, error) {
	var ours *metav1.ManagedFieldsEntry
	var rest []metav1.ManagedFieldsEntry
	union := fieldpath.NewSet()
	merged := 0
	if data != nil {
		union, merged = data, 1
	}
	for _, entry := range meta.ManagedFields {
		mine := entry.Manager == kubeobj.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply
		if entry.Subresource != "" || entry.FieldsV1 == nil || !mine && !theirs(entry.Manager) {
			rest = append(rest, entry)
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return nil, fmt.Errorf("read the fields of manager %s: %w", entry.Manager, err)
		}
		if ref.IsSecret() {
			set = asData(set)
		}
		union = union.Union(set)
		if mine || ours == nil {
			copied := entry
			ours = &copied
		}
		if !mine {
			merged++
		}
	}
	if merged == 0 || ours == nil {
		return nil, nil
	}
	raw, err := union.ToJSON()
	if err != nil {
		return nil, err
	}
	ours.Manager, ours.Operation = kubeobj.FieldManager, metav1.ManagedFieldsOperationApply
	ours.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": append(rest, *ours)},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": meta.ResourceVersion},
	})
}
