package generated

import (
	"cmp"
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// location is a position of a value that a template generates anew each time.
type location struct {
	in      *generates
	pointer string
	// fresh is the rendered value, live the one in the cluster, which is used if
	// found.
	fresh, live any
	found       bool
}

// generates is an object with such values.
type generates struct {
	object *unstructured.Unstructured
	live   map[string]any
	// own: the live object belongs to this service, so that its values may replace
	// other values rendered for the service.
	own bool
}

// Service is the service whose objects are changed.
type Service struct {
	ID, Namespace string
	// Revision names its files and settings: objects that run once per revision have
	// one name in it.
	Revision string
}

// Keep makes a render repeatable. It changes objects, the rendered objects in order.
// Where a template generates a value anew each time, an existing object keeps its own
// value. Whatever depends on such a value follows it:
//
//   - a new object that holds the same password, also inside a longer text or in
//     Base64, gets the one in use;
//   - certificates and keys that belong together stay together: if one of them is not
//     in the cluster, all of them are created again;
//   - a checksum in an annotation is computed from the final Secrets and ConfigMaps
//     of the service, so that it changes when they do.
//
// Objects that run once per revision get a name if they have none of their own, see
// runs.go. Unavailable: an object cannot be looked up.
func Keep(ctx context.Context, lookup render.Lookup, service Service, rendered []render.Object, objects []*unstructured.Unstructured) error {
	named, err := nameRuns(service.Revision, rendered, objects)
	if err != nil {
		return err
	}
	var locations []*location
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
			p := &location{in: g, pointer: pointer}
			p.fresh, _ = at(g.object.Object, pointer)
			p.live, p.found = g.counterpart(pointer)
			if was := named[i]; pointer == namePointer && was != "" {
				*p = location{in: &generates{object: g.object, own: true}, pointer: pointer, fresh: was, live: g.object.GetName(), found: true}
			}
			locations = append(locations, p)
		}
	}
	if len(locations) == 0 {
		return nil
	}
	checksums, values := splitChecksums(locations, holders)
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

// readLive reads the live object.
func (g *generates) readLive(ctx context.Context, lookup render.Lookup, service Service) error {
	o := g.object
	key := render.LookupKey{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: cmp.Or(o.GetNamespace(), service.Namespace), Name: o.GetName()}
	text, err := lookup.Lookup(ctx, key)
	if err != nil {
		return errcode.New(errcode.Unavailable, "%s %s has generated values, but the live object cannot be read: %w", key.Kind, key.Name, err)
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
