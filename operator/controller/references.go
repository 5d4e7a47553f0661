package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/operator/tenancy"
)

// missing is an error that heals when another object appears. It is not retried with
// back-off.
type missing struct{ error }

// Unwrap returns the error.
func (m missing) Unwrap() error { return m.error }

// kindNamed returns a kind that the operator acts on.
func kindNamed(name string) (kind, bool) {
	for _, k := range all() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

// self is the object as one end of a reference.
func self(p *pass) tenancy.Object {
	return tenancy.Object{Group: p.gvk().Group, Kind: p.name, NamespacedName: p.key}
}

// follow reads what a reference names, if the object may name it.
func (p *pass) follow(ctx context.Context, ref reference.Reference) (any, error) {
	if ref.Flux {
		return fluxSource(ctx, p, ref)
	}
	from := self(p)
	if ref.By != "" {
		from.Kind = ref.By
	}
	may := p.tenancy.MayName
	if ref.Written {
		may = p.tenancy.MayWrite
	}
	if err := may(ctx, ref.Field, from, objectOf(ref)); err != nil {
		return nil, err
	}
	if ref.Written {
		return nil, nil
	}
	var object client.Object
	reader := p.direct
	switch ref.Kind {
	case reference.Secret:
		object = &corev1.Secret{}
	case reference.ConfigMap:
		object = &corev1.ConfigMap{}
	default:
		k, _ := kindNamed(ref.Kind)
		object, reader = k.object.DeepCopyObject().(client.Object), p.cluster
		if err := p.get(ctx, reader, ref, object); err != nil {
			return nil, err
		}
		if value(k.common(object).status.ID) == "" {
			return nil, missing{errcode.New(errcode.NotFound, "%s %s of %s is not in the hub yet", ref.Kind, tenancy.Written(ref.At), ref.Field)}
		}
		return object, nil
	}
	err := p.get(ctx, reader, ref, object)
	if ref.Optional && errcode.Is(err, errcode.NotFound) {
		return nil, nil
	}
	return object, err
}

func (p *pass) get(ctx context.Context, from client.Reader, ref reference.Reference, into client.Object) error {
	if err := from.Get(ctx, ref.At, into); err != nil {
		err = tenancy.ReadError(err, ref.Kind, ref.At, ref.Field)
		if errcode.Is(err, errcode.NotFound) {
			return missing{err}
		}
		return err
	}
	return nil
}
