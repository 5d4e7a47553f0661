package controller

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/flux"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk/manifest"
)

// ofSources is the kind Repository with fields that a source of Flux gives.
func ofSources(k kind) kind {
	secrets := k.references
	k.references = func(o client.Object) []reference.Reference {
		if ref := o.(*axlev1alpha1.Repository).Spec.SourceRef; ref != nil {
			return []reference.Reference{reference.ToFlux("spec.sourceRef", ref.Kind, o.GetNamespace(), ref.Name)}
		}
		return secrets(o)
	}
	k.more = func(o client.Object, refs reference.Resolved) (out []reference.Reference) {
		for _, ref := range k.references(o) {
			if s, ok := refs[ref.Key()].(*manifest.FluxSource); ok {
				named := s.Secrets()
				for _, field := range slices.Sorted(maps.Keys(named)) {
					out = append(out, reference.To(field+" of the source", reference.Secret, &v1alpha1.ObjectReference{Name: named[field]}, o.GetNamespace())...)
				}
			}
		}
		return out
	}
	k.obsolete, k.idle = unnamedSource, suspendedSource
	return k
}

// unnamedSource deletes a Repository that the operator made and whose source nobody names,
// also if the source is gone.
func unnamedSource(ctx context.Context, p *pass) (bool, error) {
	if p.object.GetLabels()[flux.MadeFor] == "" {
		return false, nil
	}
	for _, ref := range p.references(p.object) {
		for _, of := range []kind{serviceDeployments(), globalServices(), managedNamespaces()} {
			users := of.list.DeepCopyObject().(client.ObjectList)
			err := p.cluster.List(ctx, users, client.MatchingFields{referenceIndex: ref.Key()})
			if err != nil || meta.LenList(users) > 0 {
				return false, err
			}
		}
	}
	p.untouched = true
	return true, client.IgnoreNotFound(p.cluster.Delete(ctx, p.object, client.Preconditions{UID: new(p.object.GetUID())}))
}

// suspendedSource leaves the hub alone while the source is suspended.
func suspendedSource(_ context.Context, p *pass) (bool, error) {
	for _, ref := range p.references(p.object) {
		if s, ok := p.refs[ref.Key()].(*manifest.FluxSource); ok && s.Suspended() {
			p.due.Forget(p.key) // so that a resumed source is looked at
			p.untouched, p.suspended = true, true
		}
	}
	return p.suspended, nil
}

// fluxSource reads a source of Flux. For an object that follows it, there is a Repository.
func fluxSource(ctx context.Context, p *pass, ref reference.Reference) (any, error) {
	if ref.Optional && !p.flux.Serves(ref.Kind) {
		return nil, nil
	}
	if err := p.tenancy.MayName(ctx, ref.Field, self(p), objectOf(ref)); err != nil {
		if ref.Optional && errcode.Is(err, errcode.Forbidden) {
			err = nil // it is the name of a repository of the hub
		}
		return nil, err
	}
	s, err := p.flux.Get(ctx, flux.Name{Kind: ref.Kind, NamespacedName: ref.At})
	switch {
	case ref.Optional && errcode.Is(err, errcode.NotFound):
		return nil, nil
	case errcode.Is(err, errcode.NotFound):
		return nil, missing{err}
	case err != nil:
		return nil, err
	case p.name == "Repository":
		return s, nil
	}
	if s.Repository, err = flux.Repository(ctx, p.cluster, referenceIndex, ref, s); errcode.Is(err, errcode.NotFound) {
		err = missing{err}
	}
	return s, err
}
