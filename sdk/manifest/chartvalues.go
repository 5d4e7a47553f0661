package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/manifest"
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

// secretChartValues adds the values of a Secret to the service's secrets: values of the spec
// are shown to everybody who may read the service.
func secretChartValues(values Values, h *v1alpha1.ServiceHelm, namespace string, out *specv1.Spec) error {
	if h == nil || h.ValuesFrom == nil {
		return nil
	}
	merged, err := values.ChartValues(cmp.Or(h.ValuesFrom.Namespace, namespace), h.ValuesFrom.Name)
	if err != nil {
		return fmt.Errorf("helm.valuesFrom: %w", err)
	}
	out.Secrets = maps.Clone(out.Secrets)
	if out.Secrets == nil {
		out.Secrets = map[string]string{}
	}
	out.Secrets[specv1.ChartValues] = merged
	return nil
}

// MergeChartValues returns the documents of a Secret as one JSON object: those of a key over
// those of the keys before it. Errors name the key, and quote nothing of what it holds.
func MergeChartValues(held map[string]string, secret string) (string, error) {
	if len(held) == 0 {
		return "", errcode.New(errcode.Invalid, "Secret %s has no key; each of its keys holds a YAML map of values", secret)
	}
	all := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(held)) {
		one, err := valuesOf(held[key])
		if err != nil {
			at := ""
			if line, _ := manifest.Place(err); line > 0 {
				at = fmt.Sprintf(", line %d", line)
			}
			return "", errcode.New(errcode.Invalid, "%s of Secret %s is no YAML map of values%s; each key of the Secret must hold one", key, secret, at)
		}
		overlay.Merge(all, one)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", errcode.New(errcode.Invalid, "Secret %s cannot be written as JSON", secret)
	}
	return string(text), nil
}

// valuesOf decodes one document: of several, the decoder would take the first and lose the
// others without a word.
func valuesOf(text string) (map[string]any, error) {
	var current bytes.Buffer
	documents := 0
	for part := range bytes.Lines([]byte(text + "\n---\n")) {
		if strings.TrimRight(string(part), " \t\r\n") != "---" {
			current.Write(part)
			continue
		}
		if len(bytes.TrimSpace(stripComments(current.Bytes()))) > 0 {
			documents++
		}
		current.Reset()
	}
	if documents > 1 {
		return nil, errors.New("it holds several documents")
	}
	var all map[string]any
	err := yaml.Unmarshal([]byte(text), &all, func(d *json.Decoder) *json.Decoder { d.UseNumber(); return d })
	return all, err
}
