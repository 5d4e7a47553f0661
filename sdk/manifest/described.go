package manifest

import (
	"cmp"
	"encoding/json"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/runtime"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/protobox"
)

// The manifests of kinds in the hub's table of objects are read and written by their
// descriptions: the spec has the fields of the settings by their names in JSON. Their names
// are names of Kubernetes too.

// types are those of the group.
var types = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	_ = axlev1alpha1.AddToScheme(s) // fails for no type that is compiled in
	return s
})

// described reads an object of a kind in the table of objects. A secret is a key of a Secret.
func (d own) described(k object.Kind, values Values) (*Item, error) {
	typed, err := types().New(axlev1alpha1.GroupVersion.WithKind(k.Name))
	if err == nil {
		err = d.strict(typed)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(typed)
	if err != nil {
		return nil, d.invalid("%w", err)
	}
	var whole struct {
		Spec map[string]json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, d.invalid("%w", err)
	}
	name := ""
	if named, found := whole.Spec["name"]; found {
		if err := json.Unmarshal(named, &name); err != nil {
			return nil, d.invalid("spec.name: %w", err)
		}
	}
	delete(whole.Spec, "name")
	delete(whole.Spec, "reconciliation")
	if err := d.secrets(k, values, whole.Spec); err != nil {
		return nil, err
	}
	settings, err := json.Marshal(whole.Spec)
	if err != nil {
		return nil, d.invalid("%w", err)
	}
	name = cmp.Or(name, d.meta.Name)
	request, err := Declaration(k, name, settings)
	if err != nil {
		return nil, d.invalid("spec: %w", err)
	}
	return d.request(name, request), nil
}

// secrets puts the values of keys of Secrets in the place of what names them.
func (d own) secrets(k object.Kind, values Values, spec map[string]json.RawMessage) error {
	settings := hubv1.MessageNamed(k.Storage.Settings).Fields()
	for i := range settings.Len() {
		f := settings.Get(i)
		text, given := spec[f.JSONName()+"Ref"]
		if !given || !k.Fields[k.Storage.Settings+"."+string(f.Name())].Secret {
			continue
		}
		var ref v1alpha1.KeySelector
		if err := json.Unmarshal(text, &ref); err != nil {
			return d.invalid("spec.%sRef: %w", f.JSONName(), err)
		}
		value, err := d.key(values, &ref)
		if err != nil {
			return err
		}
		if text, err = json.Marshal(value); err != nil {
			return d.invalid("spec.%sRef: %w", f.JSONName(), err)
		}
		delete(spec, f.JSONName()+"Ref")
		spec[f.JSONName()] = text
	}
	return nil
}

// Declaration is the request that declares an object of a kind in the table of objects,
// with settings as JSON of the API.
func Declaration(k object.Kind, name string, settings []byte) (proto.Message, error) {
	described := hubv1.MessageNamed(k.Request)
	if described == nil {
		return nil, errcode.New(errcode.Internal, "there is no message %s", k.Request)
	}
	request := protobox.New(described)
	m := request.ProtoReflect()
	m.Set(described.Fields().ByName("name"), protoreflect.ValueOfString(name))
	into := m.Mutable(described.Fields().ByName("settings")).Message().Interface()
	return request, protojson.Unmarshal(settings, into)
}

// Described exports an object of a kind in the table of objects, as the hub shows it.
func (e Exporter) Described(k object.Kind, m proto.Message) (Exported, error) {
	fields := m.ProtoReflect().Descriptor().Fields()
	name := m.ProtoReflect().Get(fields.ByName("name")).String()
	out := Exported{Kind: k.Name, Name: name}
	text, err := protojson.Marshal(m.ProtoReflect().Get(fields.ByName("settings")).Message().Interface())
	if err != nil {
		return out, errcode.New(errcode.Internal, "%w", err)
	}
	meta, err := e.meta(true, name, nil)
	if err != nil {
		return out, err
	}
	typed, err := types().New(axlev1alpha1.GroupVersion.WithKind(k.Name))
	if err != nil {
		return out, errcode.New(errcode.Internal, "%w", err)
	}
	whole := map[string]any{"apiVersion": axlev1alpha1.GroupVersion.String(), "kind": k.Name, "metadata": meta, "spec": json.RawMessage(text)}
	object, err := json.Marshal(whole)
	if err == nil {
		err = json.Unmarshal(object, typed)
	}
	if err != nil {
		return out, errcode.New(errcode.Internal, "%s %s: %w", k.Name, name, err)
	}
	out.Object = typed
	return out, nil
}
