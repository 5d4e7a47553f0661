package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/internal/yamltext"
)

// Object is one rendered Kubernetes object.
type Object struct {
	// Data is the object as decoded from JSON; numbers are json.Number.
	Data map[string]any
	// Source is the file or template it came from.
	Source string
	// Line is where it starts in its source; zero is unknown.
	Line int
	// CRD marks an object from a chart's crds folder.
	CRD bool
	// Volatile are JSON pointers to values that differ from render to render.
	Volatile []string
}

// Key identifies an object in one cluster, independent of its version.
type Key struct {
	Group, Kind, Namespace, Name string
}

// Generated reports whether the API server generates the name: two objects may have
// the same such key.
func (k Key) Generated() bool { return strings.HasSuffix(k.Name, "*") }

// String is the key for people: kind, group, then the name.
func (k Key) String() string {
	kind := k.Kind
	if k.Group != "" {
		kind += "." + k.Group
	}
	if k.Namespace != "" {
		return kind + " " + k.Namespace + "/" + k.Name
	}
	return kind + " " + k.Name
}

// Key returns the object's key, with the namespace for objects that name none. A name
// that the API server generates ends with a star.
func (o *Object) Key(defaultNamespace string) Key {
	group, _, found := strings.Cut(o.text("apiVersion"), "/")
	if !found {
		group = ""
	}
	metadata, _ := o.Data["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	if prefix, _ := metadata["generateName"].(string); name == "" && prefix != "" {
		name = prefix + "*"
	}
	if namespace == "" {
		namespace = defaultNamespace
	}
	return Key{Group: group, Kind: o.text("kind"), Namespace: namespace, Name: name}
}

// Annotation returns an annotation's value, "" if it is not set.
func (o *Object) Annotation(name string) string {
	value, _ := o.LookupAnnotation(name)
	return value
}

// LookupAnnotation returns an annotation's value and whether it is set.
func (o *Object) LookupAnnotation(name string) (string, bool) {
	metadata, _ := o.Data["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, ok := annotations[name].(string)
	return value, ok
}

// JSON encodes the object.
func (o *Object) JSON() ([]byte, error) {
	text, err := json.Marshal(o.Data)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Key(""), err)
	}
	return text, nil
}

// YAML is the object for people. Its numbers stay whole, or fractions, as they were written.
func (o *Object) YAML() ([]byte, error) {
	text, err := yamltext.Marshal(o.Data)
	if err == nil {
		return text, nil
	}
	// Some renderers leave values that JSON does not have.
	encoded, err := o.JSON()
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.Key(""), err)
	}
	return yamltext.Marshal(data)
}

func (o *Object) text(field string) string {
	s, _ := o.Data[field].(string)
	return s
}

// Error is an error in a text, with its position.
type Error struct {
	File    string
	Line    int // zero if unknown
	Message string
}

// Error puts the position before the message.
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Message
	case e.Line == 0:
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}
