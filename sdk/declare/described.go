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

// Write implements Kind.
func (d described) Write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *Found) (*Found, error) {
	request := proto.Clone(item.Request)
	sdk.SetManagement(request, item.Management)
	made, _, err := d.objects(c).Write(ctx, request, have != nil)
	if err != nil {
		return nil, err
	}
	return foundObject(made), nil
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
		hidden = sdk.Described(f).Secret || f.Message() != nil && !f.IsList() && !f.IsMap() && hides(v.Message())
		return !hidden
	})
	return hidden
}

// same compares what is declared with what the hub shows, by the names of the fields. The
// hub may have its own value of a field that is not given.
func same(want, have protoreflect.Message, name string) bool {
	for i := range want.Descriptor().Fields().Len() {
		f := want.Descriptor().Fields().Get(i)
		rule := sdk.Described(f)
		if rule.Skip || rule.Secret || (rule.Computed || rule.Derived) && !want.Has(f) {
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
		case rule.Flat && shown == nil:
			equal = same(want.Get(f).Message(), have, name)
		case shown != nil && shown.Cardinality() == f.Cardinality() && shown.Kind() == f.Kind():
			equal = sameField(f, want, shown, have, name)
		}
		if !equal {
			return false
		}
	}
	return true
}

// sameField compares one field of what is declared with that of what the hub shows.
func sameField(f protoreflect.FieldDescriptor, want protoreflect.Message, shown protoreflect.FieldDescriptor, have protoreflect.Message, name string) bool {
	rule, a, b := sdk.Described(f), want.Get(f), have.Get(shown)
	switch {
	case f.IsMap():
		return a.Equal(b)
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
