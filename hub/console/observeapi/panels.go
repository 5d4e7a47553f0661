package observeapi

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/observe"
)

// Panels implements hubv1connect.MetricsHandler.
func (a *API) Panels(ctx context.Context, r *connect.Request[hubv1.MetricPanelsRequest]) (*connect.Response[hubv1.MetricPanelsResponse], error) {
	target, err := a.metrics(ctx, r.Peer(), r.Msg)
	if err != nil {
		return nil, err
	}
	m := r.Msg
	board, err := target.Panels(ctx, observe.PanelsQuery{
		Level: m.GetLevel(), Namespace: m.GetNamespace(), Name: m.GetName(), Workloads: m.GetWorkloads(),
		Start: at(m.GetStartMicros()), End: at(m.GetEndMicros()), Step: time.Duration(m.GetStepMicros()) * time.Microsecond,
	})
	if err != nil {
		return nil, err
	}
	out := &hubv1.MetricPanelsResponse{
		Source: Source(target.Source), Namespaces: Namespaces(target.Namespaces), Notices: board.Notices,
		StartMicros: micros(board.Start), EndMicros: micros(board.End), StepMicros: board.Step.Microseconds(),
	}
	for _, p := range board.Panels {
		panel := &hubv1.MetricPanel{Name: p.Name, Title: p.Title, Unit: p.Unit, Message: p.Message}
		for _, q := range p.Queries {
			drawn := series(q.Series)
			for i := range drawn {
				drawn[i].Legend = q.Legends[i]
			}
			panel.Queries = append(panel.Queries, &hubv1.MetricPanelQuery{Query: q.Sent, Series: drawn})
		}
		out.Panels = append(out.Panels, panel)
	}
	for _, missing := range board.Missing {
		out.Missing = append(out.Missing, &hubv1.MissingMetrics{Name: missing.Name, Panels: missing.Panels, Message: missing.Message, Command: missing.Command})
	}
	return connect.NewResponse(out), nil
}
