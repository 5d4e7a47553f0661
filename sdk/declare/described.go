package declare

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/protobox"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

// described are the objects of a kind by its description: of a kind with calls, nothing
// else has to be written here.
type described struct{ kind string }

// objects are the calls of the kind. That there are some is checked where a described is
// made.
func (d described) objects(c *sdk.Client) sdk.Objects {
	o, _ := c.Objects(d.kind)
	return o
}

// foundObject is an object as an answer of the hub has it.
func foundObject(m proto.Message) *Found {
	return &Found{ID: cmp.Or(sdk.Text(m, "id"), sdk.Text(m, "name")), Message: m, By: sdk.ManagedBy(m)}
}

// Read implements Kind.
func (d described) Read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*Found, error) {
	have, err := d.objects(c).Get(ctx, item.Name)
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return foundObject(have), nil
}

// Same cannot see secrets.
func (d described) Same(_ *sdk.Client, item *manifest.Item, have *Found) bool {
	return same(item.Request.ProtoReflect(), have.Message.ProtoReflect(), item.Name)
}

// Write implements Kind. An object of which nothing can change is written again for a
// take-over only, and one that a write replaces keeps what cannot change, such as where a
// secret goes.
func (d described) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	k, _ := object.Named(d.kind)
	management, update := proto.CloneOf(item.Management), have != nil && k.Calls.Update != ""
	if have != nil && !k.Calls.Upserts() {
		if field := difference(item.Request.ProtoReflect(), have.Message.ProtoReflect(), item.Name, true); field != "" {
			return nil, errcode.New(errcode.Conflict, "%s %s of the hub has another %s, which cannot be changed; choose another name, or delete it first", d.kind, item.Name, field)
		}
		switch {
		case management.GetTakeOver():
		case !update:
			return have, nil
		case k.Calls.Replaces:
			if err := mayWrite(d.kind, item.Name, have.By, management.GetBy()); err != nil {
				return nil, err
			}
			management.TakeOver = true // it is the caller's
		}
	}
	request := proto.Clone(item.Request)
	sdk.SetManagement(request, management)
	made, _, err := d.objects(c).Write(ctx, request, update)
	if err != nil {
		return nil, err
	}
	return foundObject(made), nil
}

// mayWrite returns Conflict if the hub would refuse a change without a take-over.
func mayWrite(kind, name string, have, by *hubv1.Manager) error {
	if proto.Equal(have, by) || !Declares(have) && !Declares(by) {
		return nil
	}
	return errcode.New(errcode.Conflict, "%s %s is managed by %s %s: take it over with --take-over", kind, name, have.GetTool(), have.GetId())
}

// Remove implements Kind.
func (d described) Remove(ctx context.Context, c *sdk.Client, name string, by *hubv1.Manager) error {
	have, err := d.Read(ctx, c, &manifest.Item{Name: name})
	if have == nil {
		return err
	}
	if err := ours(have.By, by); err != nil {
		return err
	}
	return ignoreNotFound(d.objects(c).Delete(ctx, name, &hubv1.Management{By: by}))
}

// Managed implements Kind.
func (d described) Managed(ctx context.Context, c *sdk.Client, by *hubv1.Manager) (names []string, _ error) {
	list, err := d.objects(c).Managed(ctx, by)
	k, _ := object.Named(d.kind)
	for _, one := range list {
		names = append(names, sdk.Text(one, k.Calls.Names()))
	}
	return names, err
}

// hides reports whether a request has a value that the hub does not show.
func hides(request protoreflect.Message) (hidden bool) {
	request.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case sdk.Described(f).Secret && f.IsMap():
			// A key without a value keeps that of the hub.
			v.Map().Range(func(_ protoreflect.MapKey, one protoreflect.Value) bool {
				hidden = one.String() != ""
				return !hidden
			})
		case sdk.Described(f).Secret:
			hidden = true
		default:
			hidden = f.Message() != nil && !f.IsList() && !f.IsMap() && hides(v.Message())
		}
		return !hidden
	})
	return hidden
}

// same compares what is declared with what the hub shows, by the names of the fields. The
// hub may have its own value of a field that is not given.
func same(want, have protoreflect.Message, name string) bool {
	return difference(want, have, name, false) == ""
}

// difference is the name of the first field that is not the same, of those that cannot change
// if lasting is set; empty is none.
func difference(want, have protoreflect.Message, name string, lasting bool) string {
	for i := range want.Descriptor().Fields().Len() {
		f := want.Descriptor().Fields().Get(i)
		rule := sdk.Described(f)
		number := f.Kind() != protoreflect.StringKind && f.Message() == nil && !f.IsList()
		if rule.Skip || rule.Secret && !f.IsMap() || !want.Has(f) && (rule.Computed && len(rule.Empty) == 0 || rule.Derived || rule.Immutable && number) || lasting && !rule.Immutable && !rule.Flat {
			continue
		}
		shown := have.Descriptor().Fields().ByName(f.Name())
		if shown == nil && rule.Other != "" {
			shown = have.Descriptor().Fields().ByName(protoreflect.Name(rule.Other))
		}
		equal := true
		switch {
		case rule.Clears != "":
			equal = !want.Get(f).Bool() || !have.Has(have.Descriptor().Fields().ByName(protoreflect.Name(rule.Clears)))
		case rule.Flat:
			in := have
			if shown != nil {
				in = have.Get(shown).Message()
			}
			if field := difference(want.Get(f).Message(), in, name, lasting); field != "" {
				return field
			}
		case shown != nil && shown.Cardinality() == f.Cardinality() && shown.Kind() == f.Kind():
			equal = sameField(f, want, shown, have, name)
		}
		if !equal {
			return string(f.Name())
		}
	}
	return ""
}

// sameField compares one field of what is declared with that of what the hub shows.
func sameField(f protoreflect.FieldDescriptor, want protoreflect.Message, shown protoreflect.FieldDescriptor, have protoreflect.Message, name string) bool {
	rule, a, b := sdk.Described(f), want.Get(f), have.Get(shown)
	switch {
	case f.IsMap() && rule.Secret:
		return slices.Equal(keys(a.Map()), keys(b.Map()))
	case f.IsMap():
		return a.Equal(b)
	case f.IsList() && len(rule.Empty) > 0 && a.List().Len() == 0:
		return slices.Equal(rule.Empty, protobox.Ordered(b.List()))
	case f.IsList() && rule.Set:
		return slices.Equal(protobox.Ordered(a.List()), protobox.Ordered(b.List()))
	case f.IsList() && f.Message() != nil:
		equal := a.List().Len() == b.List().Len()
		for i := 0; equal && i < a.List().Len(); i++ {
			equal = same(a.List().Get(i).Message(), b.List().Get(i).Message(), name)
		}
		return equal
	case f.IsList():
		return a.Equal(b)
	case f.Message() != nil:
		return (rule.Flat || want.Has(f) == have.Has(shown)) && same(a.Message(), b.Message(), name)
	case f.Kind() != protoreflect.StringKind:
		return want.Has(f) == have.Has(shown) && a.Equal(b) || !want.Has(f) && rule.Default != nil && b.Interface() == rule.Default
	}
	text := a.String()
	if text == "" {
		text, _ = rule.Default.(string)
	}
	switch {
	case text == "" && rule.SameAs == "name":
		text = name
	case rule.JSON:
		return manifest.SameJSON(text, b.String())
	case rule.Fold:
		return strings.EqualFold(text, b.String())
	}
	return text == b.String()
}

// keys are those of a map, sorted: of secrets the hub shows no more.
func keys(m protoreflect.Map) (all []string) {
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		all = append(all, k.String())
		return true
	})
	slices.Sort(all)
	return all
}
