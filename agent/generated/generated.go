package generated

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// place is one value that a template generates anew each time.
type place struct {
	in      *generates
	pointer string
	// fresh is what was rendered, live what the cluster has there; the latter
	// counts when found.
	fresh, live any
	found       bool
}

// generates is an object with such values.
type generates struct {
	object *unstructured.Unstructured
	live   map[string]any
	// own: the live object belongs to this service, so that its values may
	// replace others that were rendered for the service.
	own bool
}

// Service is whose objects are looked at.
type Service struct {
	ID, Namespace string
	// Revision names its files and settings: what runs once for each has one name
	// in it.
	Revision string
}

// Keep makes a render repeatable: objects are what was rendered, in the order of
// rendered, and are changed. Where a template generates a value anew each time,
// an object that exists keeps its own. What depends on such a value follows it:
//
//   - an object that is new and holds the same password, also inside a longer
//     text or in Base64, gets the one that is in use;
//   - certificates and keys that belong together stay together: when one of
//     them is not in the cluster, all of them are made anew;
//   - a checksum in an annotation is made of what the service's Secrets and
//     ConfigMaps hold in the end, so that it changes when they do.
//
// What runs once a revision gets a name where it has none of its own, see
// runs.go. Unavailable: an object cannot be looked up.
func Keep(ctx context.Context, lookup render.Lookup, service Service, rendered []render.Object, objects []*unstructured.Unstructured) error {
	named, err := nameRuns(service.Revision, rendered, objects)
	if err != nil {
		return err
	}
	var places []*place
	var holders []*generates
	for i, o := range rendered {
		if len(o.Volatile) == 0 {
			continue
		}
		g := &generates{object: objects[i]}
		if err := g.readLive(ctx, lookup, service); err != nil {
			return err
		}
		holders = append(holders, g)
		for _, pointer := range o.Volatile {
			p := &place{in: g, pointer: pointer}
			p.fresh, _ = at(g.object.Object, pointer)
			p.live, p.found = g.counterpart(pointer)
			if was := named[i]; pointer == namePointer && was != "" {
				*p = place{in: &generates{object: g.object, own: true}, pointer: pointer, fresh: was, live: g.object.GetName(), found: true}
			}
			places = append(places, p)
		}
	}
	if len(places) == 0 {
		return nil
	}
	checksums, values := splitChecksums(places, holders)
	renewIncomplete(values)
	swaps := newSwaps(values)
	for _, p := range values {
		if p.found {
			put(p.in.object.Object, p.pointer, p.live)
			continue
		}
		if text, ok := p.fresh.(string); ok {
			put(p.in.object.Object, p.pointer, swaps.apply(text))
		}
	}
	sum := checksumOf(holders)
	for _, p := range checksums {
		put(p.in.object.Object, p.pointer, cut(sum, p.fresh))
	}
	return nil
}

// readLive looks the live object up.
func (g *generates) readLive(ctx context.Context, lookup render.Lookup, service Service) error {
	o := g.object
	key := render.LookupKey{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: cmp.Or(o.GetNamespace(), service.Namespace), Name: o.GetName()}
	text, err := lookup.Lookup(ctx, key)
	if err != nil {
		return errcode.New(errcode.Unavailable, "%s %s has generated values, and the live object cannot be read: %w", key.Kind, key.Name, err)
	}
	if len(text) == 0 {
		return nil
	}
	live := &unstructured.Unstructured{}
	if err := live.UnmarshalJSON(text); err != nil {
		return errcode.New(errcode.Unavailable, "%s %s cannot be read: %w", key.Kind, key.Name, err)
	}
	g.live, g.own = live.Object, live.GetAnnotations()[kubeobj.ServiceAnnotation] == service.ID
	return nil
}
