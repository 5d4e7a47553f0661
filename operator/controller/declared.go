package controller

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/declare"
	"github.com/axle-cd/axle/sdk/manifest"
)

// declared are the calls of sdk/declare for a kind of the group axle-cd.github.io.
type declared struct {
	declare.Kind
	// show writes the rest of the status from the hub's answer; nil writes nothing.
	show func(client.Object, proto.Message)
}

// described are the calls for the objects of a kind.
func described(kind string, show func(client.Object, proto.Message)) declared {
	calls, _ := declare.Of(kind)
	return declared{calls, show}
}

// own is a kind of the group axle-cd.github.io whose calls sdk/declare has.
func own[P client.Object](name string, object P, list client.ObjectList, show func(P, proto.Message)) kind {
	d := described(name, nil)
	if show != nil {
		d.show = func(o client.Object, m proto.Message) { show(o.(P), m) }
	}
	return kind{
		name: name, group: kinds.Axle, protection: strings.ToLower(name), object: object, list: list, hub: d,
	}
}

// withSecret is k with a field that names a Secret of the object's own namespace; of
// returns an empty name for none.
func (k kind) withSecret(field string, of func(client.Object) string) kind {
	k.references = func(o client.Object) []reference.Reference {
		return reference.To(field, reference.Secret, &v1alpha1.ObjectReference{Name: of(o)}, o.GetNamespace())
	}
	k.refersTo = []string{reference.Secret}
	return k
}

func (d declared) found(f *declare.Found) *found {
	if f == nil {
		return nil
	}
	out := &found{id: f.ID, message: f.Message, managed: true, by: f.By, waits: f.Waits, notActing: f.NotActing, declared: f}
	if d.show != nil {
		out.show = func(o client.Object) { d.show(o, f.Message) }
	}
	return out
}

// absent makes an error that heals of one about something that the object names.
func absent(err error) error {
	if sdk.IsNotFound(err) {
		return missing{err}
	}
	return err
}

func (d declared) read(ctx context.Context, c *sdk.Client, item *manifest.Item) (*found, error) {
	f, err := d.Read(ctx, c, item)
	return d.found(f), absent(err)
}

func (d declared) same(_ context.Context, c *sdk.Client, item *manifest.Item, have *found) (bool, error) {
	return d.Same(c, item, have.declared), nil
}

func (d declared) write(ctx context.Context, c *sdk.Client, item *manifest.Item, have *found) (*found, error) {
	var before *declare.Found
	if have != nil {
		before = have.declared
	}
	f, err := d.Write(ctx, c, item, before)
	return d.found(f), absent(err)
}

func (d declared) remove(ctx context.Context, c *sdk.Client, _ client.Object, name string, by *hubv1.Manager) (bool, error) {
	err := d.Remove(ctx, c, name, by)
	var theirs *declare.OfOthers
	if errors.As(err, &theirs) {
		return false, &ofOthers{theirs.By}
	}
	return err == nil, err
}
