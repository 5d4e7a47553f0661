package manifest

import (
	"encoding/json"

	"sigs.k8s.io/yaml"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/overlay"
)

// chartValues puts the values of a ConfigMap under those that the spec has itself, which
// win. The ConfigMap is in the namespace of the object.
func chartValues(values Values, h *v1alpha1.ServiceHelm, namespace string, out *specv1.Spec) error {
	if h == nil || h.ValuesConfigMapRef == nil || out.Helm == nil {
		return nil
	}
	ref := h.ValuesConfigMapRef
	held, err := values.ConfigMap(namespace, ref.Name)
	text, ok := held[ref.Key]
	switch {
	case (err != nil || !ok) && value(ref.Optional):
		return nil
	case err != nil:
		return err
	case !ok:
		return errcode.New(errcode.Invalid, "helm.valuesConfigMapRef: ConfigMap %s/%s has no key %s", namespace, ref.Name, ref.Key)
	case out.Helm.Values == "":
		out.Helm.Values = text
		return nil
	}
	low, err := valuesOf(text)
	if err != nil {
		return errcode.New(errcode.Invalid, "helm.valuesConfigMapRef: %s of ConfigMap %s/%s is no YAML map: %w", ref.Key, namespace, ref.Name, err)
	}
	high, err := valuesOf(out.Helm.Values)
	if err != nil {
		return errcode.New(errcode.Invalid, "helm.values is no YAML map: %w", err)
	}
	if low == nil {
		low = high
	} else {
		overlay.Merge(low, high)
	}
	all, err := yaml.Marshal(low)
	out.Helm.Values = string(all)
	return err
}

func valuesOf(text string) (map[string]any, error) {
	var all map[string]any
	err := yaml.Unmarshal([]byte(text), &all, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d })
	return all, err
}
