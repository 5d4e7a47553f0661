// Package objectsapi implements the calls for the kinds in the hub's table of objects, all
// of them by their descriptions (api/object): it checks the rules of the fields, takes what
// names other objects out of the settings, and shows it by its present names. hub/console
// registers it and checks access before; hub/objects decides what is written.
//
// Invariant: an object that breaks a rule of later may be changed in every other field.
package objectsapi

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pagetoken"
	"github.com/axle-cd/axle/internal/protobox"
)

// API implements the calls. All fields are required.
type API struct {
	Objects *objects.Objects
	// Readable is what the caller may read, and By who that is.
	Readable func(ctx context.Context) (identity.Reach, error)
	By       func(ctx context.Context) string
}

// kind implements the calls for the objects of one kind.
type kind struct {
	*API
	described object.Kind
	stored    objects.Kind
	// apply and one are the messages of the request that declares an object, and of one.
	apply, one protoreflect.MessageDescriptor
}

// Procedure is the path of a method of a kind.
func Procedure(k object.Kind, method string) string {
	return hubv1.Procedures + k.Calls.Path(method)
}

// Handler is that of a kind's service, and its path.
func (a *API) Handler(of object.Kind, options ...connect.HandlerOption) (string, http.Handler) {
	k, mux := a.kind(of), http.NewServeMux()
	for method, call := range map[string]func(context.Context, protoreflect.Message, protoreflect.Message) error{
		of.Calls.List: k.list, of.Calls.Get: k.get, of.Calls.Update: k.write, of.Calls.Delete: k.delete,
	} {
		m := hubv1.MethodNamed(of.Calls.Path(method))
		serve := func(ctx context.Context, r *connect.Request[protobox.Box]) (*connect.Response[protobox.Box], error) {
			answer := protobox.New(m.Output())
			if err := call(ctx, r.Msg.ProtoReflect(), answer.ProtoReflect()); err != nil {
				return nil, err
			}
			return connect.NewResponse(&protobox.Box{Message: answer}), nil
		}
		with := append([]connect.HandlerOption{connect.WithSchema(m), connect.WithRequestInitializer(protobox.Fill(m.Input()))}, options...)
		mux.Handle(Procedure(of, method), connect.NewUnaryHandler(Procedure(of, method), serve, with...))
	}
	return hubv1.Procedures + of.Calls.Service + "/", mux
}

func (a *API) kind(of object.Kind) *kind {
	s := of.Storage
	return &kind{
		API: a, described: of,
		stored: objects.Kind{Name: of.Name, Noun: s.Called, Topic: s.Topic(), Prefix: s.Prefix, List: "axle " + of.Noun + " list", Limit: s.Limit, InProject: s.InProject},
		apply:  hubv1.MessageNamed(of.Request), one: hubv1.MessageNamed(of.Name),
	}
}

func (k *kind) list(ctx context.Context, request, answer protoreflect.Message) error {
	after, _, err := pagetoken.Parse(get(request, "page_token").String())
	if err != nil {
		return err
	}
	reach, err := k.Readable(ctx)
	if err != nil {
		return err
	}
	page, more, err := k.Objects.List(ctx, k.stored, after, int(get(request, "page_size").Int()), reach)
	if err != nil {
		return err
	}
	rows := answer.Mutable(answer.Descriptor().Fields().ByNumber(1)).List()
	for _, o := range page {
		if err := k.show(o, rows.AppendMutable().Message()); err != nil {
			return err
		}
	}
	if more {
		set(answer, "next_page_token", protoreflect.ValueOfString(pagetoken.Of(page[len(page)-1].Name, "")))
	}
	return nil
}

func (k *kind) get(ctx context.Context, request, answer protoreflect.Message) error {
	reach, err := k.Readable(ctx)
	if err != nil {
		return err
	}
	o, err := k.Objects.Get(ctx, k.stored, get(request, "name").String(), reach)
	if err != nil {
		return err
	}
	return k.show(o, answer)
}

func (k *kind) write(ctx context.Context, request, answer protoreflect.Message) error {
	name := get(request, "name").String()
	settings := protobox.New(field(request, "settings").Message()).ProtoReflect()
	proto.Merge(settings.Interface(), get(request, "settings").Message().Interface())
	had, err := k.present(ctx, name)
	if err != nil {
		return err
	}
	if err := check(k.described, name, settings, had); err != nil {
		return err
	}
	wanted := objects.Wanted{Name: name, Revision: get(request, "revision").Int(), DryRun: get(request, "dry_run").Bool()}
	wanted.Secrets = k.secrets(settings)
	if wanted.Spec, wanted.References, err = k.split(settings); err != nil {
		return err
	}
	o, outcome, err := k.Objects.Apply(ctx, k.stored, k.By(ctx), wanted)
	if err != nil {
		return err
	}
	set(answer, "result", protoreflect.ValueOfString(string(outcome)))
	return k.show(o, answer.Mutable(answer.Descriptor().Fields().ByNumber(1)).Message())
}

func (k *kind) delete(ctx context.Context, request, _ protoreflect.Message) error {
	return k.Objects.Delete(ctx, k.stored, k.By(ctx), get(request, "name").String())
}

// present are the settings of the object that exists, nil for none.
func (k *kind) present(ctx context.Context, name string) (protoreflect.Message, error) {
	o, err := k.Objects.Get(ctx, k.stored, name, identity.All)
	if errcode.Is(err, errcode.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	one := protobox.New(k.one).ProtoReflect()
	err = k.show(o, one)
	return get(one, "settings").Message(), err
}

// show fills the message of an object.
func (k *kind) show(o objects.Shown, one protoreflect.Message) error {
	for name, v := range map[protoreflect.Name]protoreflect.Value{
		"id": protoreflect.ValueOfString(o.ID), "name": protoreflect.ValueOfString(o.Name), "revision": protoreflect.ValueOfInt64(o.Revision),
		"declared_by": protoreflect.ValueOfString(o.DeclaredBy), "created_at": protoreflect.ValueOfInt64(o.CreatedAt), "updated_at": protoreflect.ValueOfInt64(o.UpdatedAt),
	} {
		set(one, name, v)
	}
	if by := management.Out(o.ManagedBy); by != nil {
		set(one, "managed_by", protoreflect.ValueOfMessage(by.ProtoReflect()))
	}
	return k.join(o, one.Mutable(field(one, "settings")).Message())
}

func field(m protoreflect.Message, name protoreflect.Name) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(name)
}

func get(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(field(m, name))
}

func set(m protoreflect.Message, name protoreflect.Name, v protoreflect.Value) {
	m.Set(field(m, name), v)
}
