package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/flux"
	"github.com/axle-cd/axle/sdk/manifest"
)

// madeFor labels a Repository that the operator made for a source of Flux. It goes when
// nobody names the source any more.
const madeFor = kinds.Axle + "/made-for-source"

// toFlux is a reference to a source of Flux.
func toFlux(field, kind, namespace, name string) reference {
	return reference{field: field, kind: kind, at: types.NamespacedName{Namespace: namespace, Name: name}, flux: true}
}

// ofFlux is toFlux for a field; none for nil.
func ofFlux(field string, ref *v1alpha1.ObjectReference, namespace string) []reference {
	if ref == nil {
		return nil
	}
	return []reference{toFlux(field, ref.Kind, cmp.Or(ref.Namespace, namespace), ref.Name)}
}

func keysOf(refs []reference) (keys []string) {
	for _, ref := range refs {
		keys = append(keys, ref.key())
	}
	return keys
}

// ofSources is the kind Repository with fields that a source of Flux gives.
func ofSources(k kind) kind {
	secrets := k.references
	k.references = func(o client.Object) []reference {
		if ref := o.(*axlev1alpha1.Repository).Spec.SourceRef; ref != nil {
			return []reference{toFlux("spec.sourceRef", ref.Kind, o.GetNamespace(), ref.Name)}
		}
		return secrets(o)
	}
	k.more = func(o client.Object, refs resolved) (out []reference) {
		for _, ref := range k.references(o) {
			if s, ok := refs[ref.key()].(*manifest.FluxSource); ok {
				named := s.Secrets()
				for _, field := range slices.Sorted(maps.Keys(named)) {
					out = append(out, to(field+" of the source", secretKind, &v1alpha1.ObjectReference{Name: named[field]}, o.GetNamespace())...)
				}
			}
		}
		return out
	}
	k.idle = idleSource
	return k
}

// idleSource deletes a Repository of a source that nobody names, and leaves the hub alone
// while the source is suspended.
func idleSource(ctx context.Context, p *pass) (bool, error) {
	ref := p.object.(*axlev1alpha1.Repository).Spec.SourceRef
	if ref == nil {
		return false, nil
	}
	at := toFlux("", ref.Kind, p.key.Namespace, ref.Name)
	if p.object.GetLabels()[madeFor] != "" {
		named := false
		for _, of := range []kind{serviceDeployments(), globalServices(), managedNamespaces()} {
			users := of.list.DeepCopyObject().(client.ObjectList)
			if err := p.cluster.List(ctx, users, client.MatchingFields{referenceIndex: at.key()}); err != nil {
				return true, err
			}
			named = named || meta.LenList(users) > 0
		}
		if !named {
			p.untouched = true
			return true, client.IgnoreNotFound(p.cluster.Delete(ctx, p.object, client.Preconditions{UID: new(p.object.GetUID())}))
		}
	}
	s, ok := p.refs[at.key()].(*manifest.FluxSource)
	if !ok || !s.Suspended() {
		return false, nil
	}
	p.due.Forget(p.key) // so that a resumed source is looked at
	p.untouched, p.suspended = true, true
	return true, nil
}

// fluxSource reads a source of Flux. For an object that follows it, there is a Repository.
func fluxSource(ctx context.Context, p *pass, ref reference) (any, error) {
	if ref.optional && !p.flux.Serves(ref.kind) {
		return nil, nil
	}
	if err := p.tenancy.MayName(ctx, ref.field, p.self(), ref.object()); err != nil {
		if ref.optional && errcode.Is(err, errcode.Forbidden) {
			err = nil // it is the name of a repository of the hub
		}
		return nil, err
	}
	s, err := p.flux.Get(ctx, flux.Name{Kind: ref.kind, NamespacedName: ref.at})
	switch {
	case ref.optional && errcode.Is(err, errcode.NotFound):
		return nil, nil
	case errcode.Is(err, errcode.NotFound):
		return nil, missing{err}
	case err != nil:
		return nil, err
	case p.name == "Repository":
		return s, nil
	}
	s.Repository, err = repositoryOf(ctx, p, ref, s)
	return s, err
}

// repositoryOf returns the name in the hub of the Repository of a source, and makes one
// if there is none. One that somebody wrote wins over the operator's.
func repositoryOf(ctx context.Context, p *pass, ref reference, s *manifest.FluxSource) (string, error) {
	var all axlev1alpha1.RepositoryList
	if err := p.cluster.List(ctx, &all, client.InNamespace(ref.at.Namespace), client.MatchingFields{referenceIndex: ref.key()}); err != nil {
		return "", err
	}
	if len(all.Items) == 0 {
		return "", makeRepository(ctx, p, ref, s)
	}
	of := slices.MinFunc(all.Items, func(a, b axlev1alpha1.Repository) int {
		return cmp.Or(cmp.Compare(a.Labels[madeFor], b.Labels[madeFor]), cmp.Compare(a.Name, b.Name))
	})
	if !of.DeletionTimestamp.IsZero() || value(of.Status.ID) == "" || of.Status.Readonly {
		return "", missing{errcode.New(errcode.NotFound, "Repository %s/%s, which stands for %s, is not in the hub: its conditions say why", of.Namespace, of.Name, ref.field)}
	}
	return cmp.Or(value(of.Spec.Name), of.Name), nil
}

func makeRepository(ctx context.Context, p *pass, ref reference, s *manifest.FluxSource) error {
	made := &axlev1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.at.Namespace, Name: strings.ToLower(ref.kind) + "." + ref.at.Name, Labels: map[string]string{madeFor: "true"}},
		Spec:       axlev1alpha1.RepositorySpec{Name: &s.Repository, Project: optional(s.Project), SourceRef: &axlev1alpha1.LocalFluxSource{Kind: ref.kind, Name: ref.at.Name}},
	}
	err := p.cluster.Create(ctx, made)
	switch {
	case apierrors.IsAlreadyExists(err):
		err = nil // the cache has not seen it yet, or it stands for something else
	case apierrors.IsForbidden(err):
		return errcode.New(errcode.Forbidden, "the operator may not create a Repository for %s: apply deploy/operator/rbac.yaml of this version (%w)", ref.field, err)
	}
	if err != nil {
		return err
	}
	return missing{errcode.New(errcode.NotFound, "Repository %s/%s, which stands for %s, is not in the hub yet: its conditions say why", made.Namespace, made.Name, ref.field)}
}

// Source implements manifest.Values.
func (r resolved) Source(kind, namespace, name string) (*manifest.FluxSource, error) {
	s, _ := r[toFlux("", kind, namespace, name).key()].(*manifest.FluxSource)
	return s, nil
}
