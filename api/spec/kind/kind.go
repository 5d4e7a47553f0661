// Package kind converts the spec of a ServiceDeployment into the spec of a service, and
// back. The CLI and axle-agent render use it; it reads no other object.
package kind

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/api/spec/convert"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

// renamed are the fields that name an object by reference.
var renamed = map[string]string{
	"ServiceTemplate.repositoryRef": "repository",
	"Source.repositoryRef":          "repository",
	"ServiceHelm.repositoryRef":     "repository",
	"ServiceImport.stackRef":        "stack",
}

// Spec converts the spec of a ServiceDeployment, without the values of its
// configurationRef. An object of chart values becomes YAML text; the error is about
// values that are no JSON.
func Spec(spec v1alpha1.ServiceDeploymentSpec) (out specv1.Spec, err error) {
	form := convert.Form{Renamed: renamed, Texts: map[reflect.Type]func(any) string{
		reflect.TypeFor[v1alpha1.ObjectReference](): func(r any) string { return r.(v1alpha1.ObjectReference).Name },
		reflect.TypeFor[v1alpha1.NamespacedName]():  func(r any) string { return r.(v1alpha1.NamespacedName).Name },
		reflect.TypeFor[runtime.RawExtension](): func(values any) string {
			raw := values.(runtime.RawExtension).Raw
			if len(raw) == 0 {
				return ""
			}
			var written string
			if json.Unmarshal(raw, &written) == nil {
				return written // values that were written as text
			}
			text, wrong := yaml.JSONToYAML(raw)
			if wrong != nil {
				err = fmt.Errorf("chart values: %w", wrong)
			}
			return string(text)
		},
	}}
	form.Copy(&out, spec)
	return out, err
}
