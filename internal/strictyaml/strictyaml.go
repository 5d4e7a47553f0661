// Package strictyaml decodes one YAML document as an API server with strict
// validation does: names of fields are case-sensitive, unknown and duplicate fields
// are errors, a number is not accepted for a string, nor the other way round, and a null is
// as if the field were not there; in a list it is an error.
//
// sigs.k8s.io/yaml converts numbers by the type of the field that it finds, and
// finds the wrong one in a struct with embedded structs. So kinds that share such a
// struct (api/v1alpha1.ServiceTemplate) are read with this package: by sdk/manifest
// and by axle-agent render. It knows no kinds and reads no files.
package strictyaml

import (
	"reflect"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Decode decodes a document into what into points to. The error names the first
// field that is wrong; into may be filled in part then.
func Decode(document []byte, into any) error {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	wrong, err := json.UnmarshalStrict(text, into)
	if err == nil && len(wrong) > 0 {
		err = wrong[0]
	}
	var from any
	if err == nil {
		err = json.UnmarshalCaseSensitivePreserveInts(text, &from)
	}
	if err == nil {
		err = nulls("", from, reflect.ValueOf(into))
	}
	return err
}
