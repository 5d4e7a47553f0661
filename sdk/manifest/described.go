package manifest

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// types are those of both groups.
var types = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	_ = axlev1alpha1.AddToScheme(s) // fails for no type that is compiled in
	_ = v1alpha1.AddToScheme(s)
	return s
})

// KindOf is the kind with its group and version, for a kind in the table of objects.
func KindOf(k object.Kind) schema.GroupVersionKind {
	if k.Manifest != nil {
		return v1alpha1.GroupVersion.WithKind(k.Name)
	}
	return axlev1alpha1.GroupVersion.WithKind(k.Name)
}

// described reads an object of a kind in the table of objects. A secret is a key of a Secret.
func (d own) described(values Values) (*Item, error) {
	k, known := object.Named(d.meta.Kind)
	if !known || k.Storage == nil || KindOf(k).GroupVersion().String() != d.meta.APIVersion {
		return nil, d.unread()
	}
	typed, err := types().New(KindOf(k))
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
	item := d.request(name, request)
	if k.Manifest != nil {
		for _, at := range k.Manifest.NotActing {
			if _, given := whole.Spec[strings.TrimPrefix(at, "spec.")]; given {
				item.NotActing = append(item.NotActing, at)
			}
		}
	}
	return item, nil
}

// SecretFields are the fields of a spec that name keys of Secrets, in the names of JSON.
func SecretFields(k object.Kind) (all []string) {
	settings := hubv1.MessageNamed(k.Storage.Settings).Fields()
	for i := range settings.Len() {
		if f := settings.Get(i); k.Fields[k.Storage.Settings+"."+string(f.Name())].Secret {
			all = append(all, f.JSONName()+refSuffix)
		}
	}
	return all
}

// refSuffix ends the name of a field that names the key of a Secret.
const refSuffix = "Ref"

// secrets puts the values of keys of Secrets in the place of what names them.
func (d own) secrets(k object.Kind, values Values, spec map[string]json.RawMessage) error {
	for _, field := range SecretFields(k) {
		text, given := spec[field]
		if !given {
			continue
		}
		var ref v1alpha1.KeySelector
		if err := json.Unmarshal(text, &ref); err != nil {
			return d.invalid("spec.%s: %w", field, err)
		}
		value, err := d.key(values, &ref)
		if err != nil {
			return err
		}
		if text, err = json.Marshal(value); err != nil {
			return d.invalid("spec.%s: %w", field, err)
		}
		delete(spec, field)
		spec[strings.TrimSuffix(field, refSuffix)] = text
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
	meta, err := e.meta(!k.Storage.ClusterScoped, name, nil)
	if err != nil {
		return out, err
	}
	typed, err := types().New(KindOf(k))
	if err != nil {
		return out, errcode.New(errcode.Internal, "%w", err)
	}
	whole := map[string]any{"apiVersion": KindOf(k).GroupVersion().String(), "kind": k.Name, "metadata": meta, "spec": json.RawMessage(text)}
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
