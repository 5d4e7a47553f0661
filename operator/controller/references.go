package controller

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
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
func (p *pass) self() tenancy.Object {
	return tenancy.Object{Group: p.gvk().Group, Kind: p.name, NamespacedName: p.key}
}

// follow reads what a reference names, if the object may name it.
func (p *pass) follow(ctx context.Context, ref reference) (any, error) {
	if ref.flux {
		return fluxSource(ctx, p, ref)
	}
	from := p.self()
	if ref.by != "" {
		from.Kind = ref.by
	}
	may := p.tenancy.MayName
	if ref.written {
		may = p.tenancy.MayWrite
	}
	if err := may(ctx, ref.field, from, ref.object()); err != nil {
		return nil, err
	}
	if ref.written {
		return nil, nil
	}
	var object client.Object
	reader := p.direct
	switch ref.kind {
	case secretKind:
		object = &corev1.Secret{}
	case configMapKind:
		object = &corev1.ConfigMap{}
	default:
		k, _ := kindNamed(ref.kind)
		object, reader = k.object.DeepCopyObject().(client.Object), p.cluster
		if err := p.get(ctx, reader, ref, object); err != nil {
			return nil, err
		}
		if value(k.common(object).status.ID) == "" {
			return nil, missing{errcode.New(errcode.NotFound, "%s %s of %s is not in the hub yet", ref.kind, tenancy.Written(ref.at), ref.field)}
		}
		return object, nil
	}
	return object, p.get(ctx, reader, ref, object)
}

func (p *pass) get(ctx context.Context, from client.Reader, ref reference, into client.Object) error {
	if err := from.Get(ctx, ref.at, into); err != nil {
		err = tenancy.ReadError(err, ref.kind, ref.at, ref.field)
		if errcode.Is(err, errcode.NotFound) {
			return missing{err}
		}
		return err
	}
	return nil
}

// resolved are the objects that references name, by their keys. It is the
// manifest.Values of the conversion.
type resolved map[string]any

// project replaces the name of a Project by its name in the hub.
func (r resolved) project(ref *v1alpha1.ObjectReference) {
	for _, found := range toGlobal("", "Project", ref) {
		if p, ok := r[found.key()].(*v1alpha1.Project); ok {
			ref.Name = p.Spec.Name
		}
	}
}

// cluster returns the handle of a Cluster, empty without a reference.
func (r resolved) cluster(ref *v1alpha1.ObjectReference, namespace string) string {
	for _, found := range to("", "Cluster", ref, namespace) {
		if c, ok := r[found.key()].(*v1alpha1.Cluster); ok {
			return cmp.Or(value(c.Spec.Handle), c.Name)
		}
	}
	return ""
}

// Secret implements manifest.Values.
func (r resolved) Secret(namespace, name string) (map[string]string, error) {
	ref := reference{kind: secretKind, at: types.NamespacedName{Namespace: namespace, Name: name}}
	secret, ok := r[ref.key()].(*corev1.Secret)
	if !ok {
		return nil, errcode.New(errcode.Invalid, "Secret %s was not read", tenancy.Written(ref.at))
	}
	values := map[string]string{}
	for k, v := range secret.Data {
		values[k] = string(v)
	}
	return values, nil
}

// ConfigMap implements manifest.Values.
func (r resolved) ConfigMap(namespace, name string) (map[string]string, error) {
	ref := reference{kind: configMapKind, at: types.NamespacedName{Namespace: namespace, Name: name}}
	configMap, ok := r[ref.key()].(*corev1.ConfigMap)
	if !ok {
		return nil, errcode.New(errcode.Invalid, "ConfigMap %s was not read", tenancy.Written(ref.at))
	}
	return configMap.Data, nil
}

// marks are resolved with the version of the object in place of each value.
type marks struct{ resolved }

// Secret implements manifest.Values.
func (m marks) Secret(namespace, name string) (map[string]string, error) {
	values, err := m.resolved.Secret(namespace, name)
	for k := range values {
		object := m.resolved[reference{kind: secretKind, at: types.NamespacedName{Namespace: namespace, Name: name}}.key()].(*corev1.Secret)
		values[k] = string(object.GetUID()) + "/" + object.GetResourceVersion()
	}
	return values, err
}
