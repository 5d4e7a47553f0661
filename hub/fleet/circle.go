package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// Object names an object of a cluster.
type Object struct{ Group, Kind, Namespace, Name string }

// circles finds services whose deletion would wait for itself.
type circles struct {
	store   Store
	objects func(components []byte) ([]Object, error)
}

// CheckLeaves returns Conflict for a service that would never be gone if its objects were
// deleted with it: it applied a custom resource, itself or through services that it
// applied, that manages something that the service uses, such as the repository that it is
// delivered from. The operator deletes that together with the resource, the hub only after
// the service, and the service goes only after the resource. It knows what agents
// reported, which may leave out objects of a service with thousands of them.
func (f *circles) CheckLeaves(ctx context.Context, s Service, c Cluster) error {
	uses, err := f.store.Uses(ctx, s.ID)
	if err != nil {
		return err
	}
	held := map[managed.Resource]Used{}
	for _, u := range uses {
		if r, ok := u.ManagedBy.Resource(); ok && r.ClusterUID == c.ClusterUID {
			held[r] = u
		}
	}
	if len(held) == 0 {
		return nil
	}
	services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
	if err != nil {
		return err
	}
	declared := map[managed.Resource]Service{}
	for _, other := range services {
		if r, ok := other.ManagedBy.Resource(); ok && !other.Spec.Detach {
			declared[r] = other.Service
		}
	}
	for next, seen := []Service{s}, map[string]bool{s.ID: true}; len(next) > 0; next = next[1:] {
		applied, err := f.applied(ctx, next[0].ID, c)
		if err != nil {
			return err
		}
		for _, r := range applied {
			if u, ok := held[r]; ok {
				return errcode.New(errcode.Conflict, "service %s would wait for itself: with its objects it deletes %s, which declares %s, and that is not deleted while the service uses it. Delete the service without its objects, and then those that should go (axle services delete %s --detach; in its custom resource, detach: true)", s.Ref(), r, u.Noun, s.Ref())
			}
			if child, ok := declared[r]; ok && !seen[child.ID] {
				seen[child.ID] = true
				next = append(next, child)
			}
		}
	}
	return nil
}

// applied are the objects of a service as the custom resources that they may be.
func (f *circles) applied(ctx context.Context, serviceID string, c Cluster) ([]managed.Resource, error) {
	components, err := f.store.Components(ctx, serviceID)
	if err != nil || len(components) == 0 {
		return nil, err
	}
	objects, err := f.objects(components)
	all := make([]managed.Resource, len(objects))
	for i, o := range objects {
		all[i] = managed.Resource{ClusterUID: c.ClusterUID, Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
	}
	return all, err
}
