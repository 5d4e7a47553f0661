package agentapi

import (
	"context"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/preview"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/packedlist"
)

// maxDifferences limits one diff, in compressed bytes.
const maxDifferences = 64 << 10

// ReportDiff stores what applying a service would change; when it answers, the
// diff is committed.
func (c calls) ReportDiff(ctx context.Context, req *connect.Request[agentv1.ReportDiffRequest]) (*connect.Response[agentv1.ReportDiffResponse], error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	m := req.Msg
	if m.GetServiceId() == "" || len(m.GetDifferences()) > maxDifferences {
		return nil, errcode.New(errcode.Invalid, "a diff must name its service and have at most %d bytes; this one has %d", maxDifferences, len(m.GetDifferences()))
	}
	if err := packedlist.Check(m.GetDifferences(), &agentv1.DifferenceList{}); err != nil {
		return nil, errcode.New(errcode.Invalid, "the diff of service %s: %w", m.GetServiceId(), err)
	}
	if err := c.config.Keys.CheckBoot(ctx, p.ID, m.GetBootId()); err != nil {
		return nil, err
	}
	if m.GetPreview() {
		err = c.config.Previews.Answer(ctx, preview.Preview{
			ClusterID: p.ID, ServiceID: m.GetServiceId(), Request: m.GetRequest(), MadeAt: m.GetMadeAt(), Error: m.GetError(), Differences: m.GetDifferences(),
		})
		return connect.NewResponse(&agentv1.ReportDiffResponse{}), err
	}
	err = c.config.Fleet.StoreDiff(ctx, p.ID, fleet.Diff{
		ServiceID: m.GetServiceId(), Request: m.GetRequest(), Revision: m.GetRevision(), SourceRevision: m.GetSourceRevision(),
		MadeAt: m.GetMadeAt(), Error: m.GetError(), Differences: m.GetDifferences(),
	})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&agentv1.ReportDiffResponse{}), nil
}
