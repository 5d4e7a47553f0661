package console

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// Diff returns what applying a service would change.
func (s *services) Diff(ctx context.Context, r *connect.Request[hubv1.DiffServiceRequest]) (*connect.Response[hubv1.ServiceDiff], error) {
	d, requested, err := s.Fleet.DiffOf(ctx, caller(ctx).By(), ref(r.Msg.GetRef()), r.Msg.GetFresh())
	if err != nil {
		return nil, err
	}
	var list hubv1.ServiceDifferenceList
	if err := unpack(d.Differences, &list); err != nil {
		return nil, fmt.Errorf("the diff of service %s: %w", d.ServiceID, err)
	}
	return connect.NewResponse(&hubv1.ServiceDiff{
		Requested: requested, Answered: d.Request, Revision: d.Revision, SourceRevision: d.SourceRevision, MadeAt: d.MadeAt, Error: d.Error,
		Differences: list.GetDifferences(), Unchanged: list.GetUnchanged(), LeftOut: list.GetLeftOut(),
	}), nil
}
