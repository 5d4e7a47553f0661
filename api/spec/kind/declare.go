package kind

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/api/spec/convert"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

// declared is renamed the other way. A chart's repository is a registered one, which
// helm.repository names; that of helm.git is helm.repositoryRef.
var declared = map[string]string{
	"Spec.repository":   "repositoryRef",
	"Source.repository": "repositoryRef",
	"Import.stack":      "stackRef",
}

// Declared is the inverse of Spec: the spec of a ServiceDeployment that means the same.
// It leaves out secrets, for which the kind names a Secret, and what no ServiceDeployment
// can say; the test of this package lists that.
func Declared(spec specv1.Spec) (out v1alpha1.ServiceDeploymentSpec) {
	renamed := declared
	if spec.Helm != nil && spec.Helm.Git != nil {
		renamed = map[string]string{"Helm.repository": "repositoryRef"}
		for from, to := range declared {
			renamed[from] = to
		}
	}
	convert.Form{Renamed: renamed, Objects: map[reflect.Type]func(string) any{
		reflect.TypeFor[v1alpha1.ObjectReference](): func(name string) any { return v1alpha1.ObjectReference{Name: name} },
		reflect.TypeFor[v1alpha1.NamespacedName]():  func(name string) any { return v1alpha1.NamespacedName{Name: name} },
		reflect.TypeFor[runtime.RawExtension]():     func(text string) any { return runtime.RawExtension{Raw: values(text)} },
	}}.Copy(&out, spec)
	return out
}

// values are chart values as JSON: an object, if it becomes the same text again, and
// otherwise the text itself, with its comments and its order.
func values(text string) []byte {
	object, err := yaml.YAMLToJSON([]byte(text))
	if err == nil && len(object) > 0 && object[0] == '{' {
		if again, err := yaml.JSONToYAML(object); err == nil && string(again) == text {
			return object
		}
	}
	whole, err := json.Marshal(text)
	if err != nil {
		return nil // a string is always JSON
	}
	return whole
}
