package console

import (
	"context"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/console/packed"
	"github.com/axle-cd/axle/hub/preview"
)

// Diff returns what applying a service would change.
func (s *services) Diff(ctx context.Context, r *connect.Request[hubv1.DiffServiceRequest]) (*connect.Response[hubv1.ServiceDiff], error) {
	d, requested, err := s.config.Fleet.DiffOf(ctx, caller(ctx).By(), ref(r.Msg.GetRef()), r.Msg.GetFresh())
	if err != nil {
		return nil, err
	}
	now, _, err := s.config.Fleet.Declared(ctx, ref(r.Msg.GetRef()))
	if err != nil {
		return nil, err
	}
	return packed.Diff(d.Differences, &hubv1.ServiceDiff{
		Requested: requested, Answered: d.Request, Revision: d.Revision, SourceRevision: d.SourceRevision, MadeAt: d.MadeAt, Error: d.Error,
		DesiredRevision: now.Desired.SourceRevision, DesiredNumber: now.Revision,
	})
}

// Preview starts or returns a preview of what a service would change if it were
// rendered from another source. It needs the permission to change the service,
// because whoever has it could apply the change anyway.
func (s *services) Preview(ctx context.Context, r *connect.Request[hubv1.PreviewServiceRequest]) (*connect.Response[hubv1.ServiceDiff], error) {
	m := r.Msg
	if m.GetRequest() == 0 {
		asked, err := s.config.Previews.Ask(ctx, caller(ctx).By(), ref(m.GetRef()), preview.Want{
			Ref: m.GetSourceRef(), Revision: m.GetRevision(), Files: m.GetFiles(),
			Repository: m.GetRepository(), Refresh: m.GetRefresh(), ChangedOnly: m.GetChangedOnly(),
		})
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(&hubv1.ServiceDiff{
			Requested: asked.Request, SourceRevision: asked.SourceRevision, SameFiles: asked.Same,
			DesiredRevision: asked.Service.Desired.SourceRevision, DesiredNumber: asked.Service.Revision,
		}), nil
	}
	now, p, err := s.config.Previews.Find(ctx, ref(m.GetRef()), m.GetRequest())
	if err != nil {
		return nil, err
	}
	out := &hubv1.ServiceDiff{Requested: p.Request, Revision: p.Revision, SourceRevision: p.Parts[0].SourceRevision, MadeAt: p.MadeAt, Error: p.Error, DesiredRevision: now.Desired.SourceRevision, DesiredNumber: now.Revision}
	if p.Answered {
		out.Answered = p.Request
	}
	return packed.Diff(p.Differences, out)
}
