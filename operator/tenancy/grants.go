package tenancy

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// GrantKind is the kind of grants, of ours and of Gateway API's.
const GrantKind = "ReferenceGrant"

// gatewayGrant is Gateway API's kind, which has the shape of ours.
var gatewayGrant = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1beta1", Kind: GrantKind}

// Object is one end of a reference.
type Object struct {
	// Group is empty for the core group.
	Group, Kind string
	// NamespacedName has no namespace for a cluster-scoped kind.
	types.NamespacedName
}

// helmRelease begins the names of the Secrets in which Helm keeps releases, with all
// their values.
const helmRelease = "sh.helm.release."

// Foreign reports whether a reference leaves the namespace, so that a grant may be
// needed.
func Foreign(from, to string) bool { return to != "" && from != to }

// MayName returns nil if one object may name another, and Forbidden otherwise. It does
// not say whether the other one exists. A namespace may name what is its own; admin
// namespaces and cluster-scoped objects may name what is in admin namespaces;
// everything else needs a ReferenceGrant in the namespace of what is named. Secrets of
// the control plane and of Helm's releases may not be named at all. field is the field
// that names it.
func (t *Tenancy) MayName(ctx context.Context, field string, from, to Object) error {
	return t.may(ctx, field, from, to, false)
}

// MayWrite is MayName for a Secret that is written. A grant to read says nothing about
// that: only a grant of ours that names the Secret and has write does, and it lets
// nobody read.
func (t *Tenancy) MayWrite(ctx context.Context, field string, from, to Object) error {
	return t.may(ctx, field, from, to, true)
}

func (t *Tenancy) may(ctx context.Context, field string, from, to Object, write bool) error {
	if to.Group == "" && to.Kind == "Secret" && (t.own[to.NamespacedName] || strings.HasPrefix(to.Name, helmRelease)) {
		return errcode.New(errcode.Forbidden, "%s names Secret %s, which is the control plane's own or Helm's: put what is needed into a Secret of its own", field, to.NamespacedName)
	}
	if !Foreign(from.Namespace, to.Namespace) || t.Admin(to.Namespace) && t.Admin(from.Namespace) {
		return nil
	}
	var ours axlev1alpha1.ReferenceGrantList
	if err := t.cluster.List(ctx, &ours, client.InNamespace(to.Namespace)); err != nil {
		return err
	}
	for _, grant := range ours.Items {
		if grant.DeletionTimestamp.IsZero() && grants(grant.Spec, from, to, write) {
			return nil
		}
	}
	theirs, err := t.gatewayGrants(ctx, to.Namespace)
	if err != nil {
		return err
	}
	for _, spec := range theirs {
		if !write && grants(spec, from, to, false) {
			return nil
		}
	}
	whose := "namespace " + from.Namespace
	if from.Namespace == "" {
		whose = `the empty namespace "", because the kind is cluster-scoped`
	}
	what := ""
	if write {
		what = ", name " + to.Name + ", write true"
	}
	return errcode.New(errcode.Forbidden, "%s names %s %s, and no ReferenceGrant in namespace %s allows that: one that does is from group %s, kind %s, %s, to group %q, kind %s%s",
		field, to.Kind, Written(to.NamespacedName), to.Namespace, from.Group, from.Kind, whose, to.Group, to.Kind, what)
}

// grants reports whether a grant allows a reference.
func grants(spec axlev1alpha1.ReferenceGrantSpec, from, to Object, write bool) bool {
	allowed := false
	for _, f := range spec.From {
		allowed = allowed || f.Group == from.Group && f.Kind == from.Kind && f.Namespace == from.Namespace
	}
	if !allowed {
		return false
	}
	for _, o := range spec.To {
		name := ""
		if o.Name != nil {
			name = *o.Name
		}
		if o.Group == to.Group && o.Kind == to.Kind && (name == "" && !write || name == to.Name) && write == (o.Write != nil && *o.Write) {
			return true
		}
	}
	return false
}

// gatewayGrants returns the grants of Gateway API in a namespace, none while the
// cluster does not have that kind. Those that cannot be read allow nothing.
func (t *Tenancy) gatewayGrants(ctx context.Context, namespace string) ([]axlev1alpha1.ReferenceGrantSpec, error) {
	if !t.gateway.Load() {
		return nil, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gatewayGrant.GroupVersion().WithKind(GrantKind + "List"))
	if err := t.manager.GetCache().List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var out []axlev1alpha1.ReferenceGrantSpec
	for _, item := range list.Items {
		var grant struct {
			Spec axlev1alpha1.ReferenceGrantSpec `json:"spec"`
		}
		if item.GetDeletionTimestamp() == nil && runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &grant) == nil {
			out = append(out, grant.Spec)
		}
	}
	return out, nil
}
