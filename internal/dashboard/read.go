package dashboard

import (
	"encoding/json"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/api/platform/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// Spec is what a dashboard declares.
type Spec = v1alpha1.DashboardSpec

// maxObject bounds the text of a dashboard; an API server accepts none that is larger.
const maxObject = 1 << 20

// Settings reads the JSON of a spec. Fields that it does not know are those of other versions.
func Settings(data []byte) (*Spec, error) {
	var s Spec
	if err := sized(data); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, errcode.New(errcode.Invalid, "the dashboard cannot be read: %w", err)
	}
	return &s, nil
}

// Object is a Dashboard with its names.
type Object struct {
	Namespace, Name string
	Spec            Spec
}

// Read reads one object, in YAML or JSON. Fields that do not exist are an error: who writes a file
// wants to know. ok is false for an object of another kind.
func Read(data []byte) (o *Object, ok bool, err error) {
	if err := sized(data); err != nil {
		return nil, false, err
	}
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(data, &kind); err != nil {
		return nil, false, errcode.New(errcode.Invalid, "%w", err)
	}
	if kind.Kind != "Dashboard" || kind.APIVersion != v1alpha1.GroupVersion.String() {
		return nil, false, nil
	}
	var d v1alpha1.Dashboard
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		return nil, true, errcode.New(errcode.Invalid, "%w", err)
	}
	return &Object{Namespace: d.Namespace, Name: d.Name, Spec: d.Spec}, true, nil
}

func sized(data []byte) error {
	if len(data) > maxObject {
		return errcode.New(errcode.Invalid, "the dashboard has %d bytes, at most %d are read", len(data), maxObject)
	}
	return nil
}
