package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// ApplyOurs creates or updates a service that the hub declares for one of its objects, which
// becomes its manager: people do not change it. Its files may be those that the hub makes.
// Conflict when another service has the name.
func (f *Fleet) ApplyOurs(ctx context.Context, objectID string, r ServiceRequest) (ServiceView, error) {
	by := managed.Manager{Tool: managed.Hub, ID: objectID}
	have, err := f.store.ServiceByRef(ctx, r.Ref)
	if err == nil && have.ManagedBy != by {
		err = errcode.New(errcode.Conflict, "cluster %s has a service %s that is somebody else's; rename or delete it", r.Ref.Cluster, r.Ref.Name)
	}
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return ServiceView{}, err
	}
	r.ours = true
	view, _, err := f.ApplyService(managed.WithCaller(ctx, managed.Caller{By: by}), "hub", r)
	return view, err
}

// DeleteOurs deletes such a service; one that is gone is no error.
func (f *Fleet) DeleteOurs(ctx context.Context, by, objectID, serviceID string) error {
	s, err := f.store.ServiceByID(ctx, serviceID)
	if err == nil {
		_, err = f.DeleteService(managed.WithCaller(ctx, managed.Caller{By: managed.Manager{Tool: managed.Hub, ID: objectID}}), by, s.Ref(), false)
	}
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	return err
}
