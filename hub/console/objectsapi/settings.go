package objectsapi

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/protobox"
	"github.com/axle-cd/axle/internal/rule"
)

// row is the description of a field of a message.
func row(k object.Kind, f protoreflect.FieldDescriptor) object.Field {
	return k.Fields[string(f.Parent().Name())+"."+string(f.Name())]
}

// check returns Invalid for settings that break a rule of their description, and Conflict
// for a field that cannot be changed. Fields that are as the object has them are not
// looked at. It makes sets what they are: sorted, and without repetitions.
func check(k object.Kind, name string, settings, had protoreflect.Message) error {
	if r := k.Fields[k.Request+".name"].Rule; had == nil && !r.Valid(name) {
		return invalid("name", "%.80q is not a name; use %s", name, r.Words)
	}
	for i := range settings.Descriptor().Fields().Len() {
		f := settings.Descriptor().Fields().Get(i)
		d := row(k, f)
		if d.Set && settings.Has(f) {
			sort(settings.Mutable(f).List())
		}
		switch {
		case had != nil && settings.Get(f).Equal(had.Get(f)):
		case had != nil && d.Immutable:
			return errcode.New(errcode.Conflict, "%s: cannot be changed; delete the %s and create it again", f.Name(), k.Storage.Called)
		case d.Required && !settings.Has(f):
			return invalid(f.Name(), "is missing")
		default:
			for _, text := range texts(settings, f) {
				if err := checkText(f.Name(), text, d); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkText(at protoreflect.Name, text string, d object.Field) error {
	switch {
	case d.Rule != nil && !d.Rule.Valid(text):
		return invalid(at, "%.80q is not valid; use %s", text, d.Rule.Words)
	case len(d.Enum) > 0 && !slices.Contains(d.Enum, text):
		return invalid(at, "%.40q is not %s", text, rule.Or(d.Enum))
	}
	return nil
}

func invalid(at protoreflect.Name, format string, args ...any) error {
	return errcode.New(errcode.Invalid, "%s: "+format, append([]any{at}, args...)...)
}

// texts are those of a field that is set.
func texts(m protoreflect.Message, f protoreflect.FieldDescriptor) (all []string) {
	switch {
	case f.Kind() != protoreflect.StringKind || f.IsMap() || !m.Has(f):
	case f.IsList():
		all = protobox.Texts(m.Get(f).List())
	default:
		all = []string{m.Get(f).String()}
	}
	return all
}

func sort(list protoreflect.List) {
	all := protobox.Ordered(list)
	list.Truncate(len(all))
	for i, text := range all {
		list.Set(i, protoreflect.ValueOfString(text))
	}
}

// secrets takes the values of secret fields out of settings, by field.
func (k *kind) secrets(settings protoreflect.Message) map[string]string {
	all := map[string]string{}
	for i := range settings.Descriptor().Fields().Len() {
		if f := settings.Descriptor().Fields().Get(i); row(k.described, f).Secret && settings.Has(f) {
			all[string(f.Name())] = settings.Get(f).String()
			settings.Clear(f)
		}
	}
	return all
}

// split takes what names other objects out of settings, and returns the rest as JSON that
// is the same for the same settings.
func (k *kind) split(settings protoreflect.Message) (json.RawMessage, []objects.Reference, error) {
	var references []objects.Reference
	for i := range settings.Descriptor().Fields().Len() {
		f := settings.Descriptor().Fields().Get(i)
		to := row(k.described, f).Reference
		if to == "" {
			continue
		}
		for at, name := range texts(settings, f) {
			references = append(references, objects.Reference{Field: string(f.Name()), Position: int64(at), TargetKind: to, Name: name})
		}
		settings.Clear(f)
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(settings.Interface())
	if err != nil {
		return nil, nil, errcode.New(errcode.Invalid, "settings: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, nil, errcode.New(errcode.Internal, "%w", err)
	}
	return compact.Bytes(), references, nil
}

// join is the inverse of split, by the names that the references have now. What the caller
// may not read has none, and is left out. Another version of the hub may know more fields.
func (k *kind) join(o objects.Shown, settings protoreflect.Message) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(o.Spec, settings.Interface()); err != nil {
		return errcode.New(errcode.Internal, "the settings of %s %s: %w", k.stored.Noun, o.Name, err)
	}
	for _, r := range o.References {
		f := field(settings, protoreflect.Name(r.Field))
		switch {
		case f == nil || r.Name == "":
		case f.IsList():
			settings.Mutable(f).List().Append(protoreflect.ValueOfString(r.Name))
		default:
			settings.Set(f, protoreflect.ValueOfString(r.Name))
		}
	}
	return nil
}

// ProjectID is the project of the object of a name, empty for one that is in none. NotFound.
func (a *API) ProjectID(ctx context.Context, of object.Kind, name string) (string, error) {
	o, err := a.Objects.Get(ctx, a.kind(of).stored, name, identity.All)
	return o.ProjectID, err
}

// Named is a field of the settings in a request that declares an object.
func Named(request proto.Message, of protoreflect.Name) string {
	return Text(get(request.ProtoReflect(), "settings").Message().Interface(), of)
}

// Text is a field of settings.
func Text(settings proto.Message, of protoreflect.Name) string {
	return get(settings.ProtoReflect(), of).String()
}

// Settings are those of the object of a name, nil for none.
func (a *API) Settings(ctx context.Context, of object.Kind, name string) (proto.Message, error) {
	had, err := a.kind(of).present(ctx, name)
	if had == nil || err != nil {
		return nil, err
	}
	return had.Interface(), nil
}

// Applied are the settings in the answer to Apply.
func Applied(answer proto.Message) proto.Message {
	m := answer.ProtoReflect()
	return get(m.Get(m.Descriptor().Fields().ByNumber(1)).Message(), "settings").Message().Interface()
}
