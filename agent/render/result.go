package render

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// Object is one rendered object.
type Object struct {
	JSON json.RawMessage
	// YAML takes its place in a pass for text.
	YAML []byte
	// Source is the file or template it came from.
	Source string
	// CRD is set for an object from a chart's crds folder.
	CRD bool
	// Volatile are JSON pointers to values that differ each time they are rendered;
	// an existing object keeps its value there.
	Volatile []string
}

// Result is the result of a pass, and what it depends on.
type Result struct {
	Objects  []Object
	Warnings []string
	// Reads are the lookups in order, each once, with what they found.
	Reads []Read
	// APIVersionsAsked are the API versions that templates asked for, sorted, with
	// the kinds that they looked up; "*" if a template may have read the whole list.
	APIVersionsAsked []string
}

// Read is one lookup and the state it found: "absent", "uid/resourceVersion",
// or for a list a hash over its items' states.
type Read struct {
	Key   LookupKey
	State string
}

func resultOf(r *renderv1.Result, reads []Read) Result {
	result := Result{
		Warnings: r.GetWarnings(), Reads: reads,
		APIVersionsAsked: asked(r.GetApiVersionsAsked(), reads),
	}
	for _, o := range r.GetObjects() {
		result.Objects = append(result.Objects, Object{
			JSON: o.GetJson(), YAML: o.GetYaml(), Source: o.GetSource(), CRD: o.GetCrd(), Volatile: o.GetVolatile(),
		})
	}
	return result
}

// asked adds the kinds that were looked up: objects that were absent because their
// kind was not served may exist as soon as it is.
func asked(versions []string, reads []Read) []string {
	for _, r := range reads {
		versions = append(versions, r.Key.APIVersion+"/"+r.Key.Kind)
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// Decoded returns the objects as Kubernetes objects. The error is Invalid and names
// the source of an invalid one.
func (r *Result) Decoded() ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(r.Objects))
	for _, o := range r.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(o.JSON); err != nil {
			return nil, errcode.New(errcode.Invalid, "%s: this is not a Kubernetes object: %w", o.Source, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}
