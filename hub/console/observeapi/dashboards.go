package observeapi

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/dashboard"
	"github.com/axle-cd/axle/internal/errcode"
)

// Draw implements hubv1connect.DashboardsHandler.
func (a *API) Draw(ctx context.Context, r *connect.Request[hubv1.DrawDashboardRequest]) (*connect.Response[hubv1.DrawDashboardResponse], error) {
	m := r.Msg
	if m.GetDashboard() == nil {
		return nil, errcode.New(errcode.Invalid, "dashboard: is missing; send spec of the Dashboard in the cluster")
	}
	// Their fields have the same names in JSON.
	text, err := protojson.Marshal(m.GetDashboard())
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "dashboard: %w", err)
	}
	spec, err := dashboard.Settings(text)
	if err != nil {
		return nil, err
	}
	target, err := a.metrics(ctx, r.Peer(), m)
	if err != nil {
		return nil, err
	}
	asked := observe.MetricQuery{Range: true, Start: at(m.GetStartMicros()), End: at(m.GetEndMicros()), Step: time.Duration(m.GetStepMicros()) * time.Microsecond}
	if asked.End.IsZero() {
		asked.End = clock.Real{}.Now()
	}
	if asked.Start.IsZero() {
		asked.Start = asked.End.Add(-dashboard.First(spec))
	}
	choice := dashboard.Choice{Values: m.GetVariables()}
	for _, n := range m.GetGraphs() {
		choice.Graphs = append(choice.Graphs, int(n))
	}
	q := &querier{target: target, asked: asked}
	drawing, err := dashboard.Draw(ctx, spec, choice, q)
	if err != nil {
		return nil, err
	}
	out := &hubv1.DrawDashboardResponse{
		Source: Source(target.Source), Namespaces: Namespaces(target.Namespaces), Notices: target.Notices,
		StartMicros: micros(asked.Start), EndMicros: micros(asked.End), StepMicros: time.Duration(q.step.Load()).Microseconds(),
	}
	for _, v := range drawing.Variables {
		out.Variables = append(out.Variables, &hubv1.DrawnVariable{Name: v.Name, Value: v.Value, Values: v.Values, Message: v.Message})
	}
	for _, g := range drawing.Graphs {
		graph := &hubv1.DrawnGraph{Number: int32(g.Number), Name: g.Name, Format: g.Format, Message: g.Message}
		for _, a := range g.Queries {
			graph.Queries = append(graph.Queries, &hubv1.DrawnQuery{Sent: a.Sent, Series: drawnSeries(a.Series), SeriesCut: int32(a.Cut), NewestMicros: a.Newest, Notices: a.Notices})
		}
		out.Graphs = append(out.Graphs, graph)
	}
	return connect.NewResponse(out), nil
}

// querier asks the store of a target for a dashboard.
type querier struct {
	target *observe.Target
	asked  observe.MetricQuery
	// step is that of the answers over the range: one that nobody gave fits the range, which
	// all have in common.
	step atomic.Int64
}

// Now implements dashboard.Querier. The values of variables are those at the end of the range.
func (q *querier) Now(ctx context.Context, query string) (*dashboard.Answer, error) {
	return q.answer(ctx, observe.MetricQuery{Query: query, At: q.asked.End})
}

// Range implements dashboard.Querier.
func (q *querier) Range(ctx context.Context, query string) (*dashboard.Answer, error) {
	one := q.asked
	one.Query = query
	return q.answer(ctx, one)
}

func (q *querier) answer(ctx context.Context, one observe.MetricQuery) (*dashboard.Answer, error) {
	found, err := q.target.Query(ctx, one)
	if err != nil {
		return nil, err
	}
	if one.Range {
		q.step.Store(int64(found.Step))
	}
	answer := &dashboard.Answer{Cut: found.Cut, Newest: found.Newest, Notices: found.Notices, Sent: found.Sent, Series: make([]dashboard.Series, len(found.Series))}
	for i, s := range found.Series {
		answer.Series[i] = dashboard.Series{Times: s.Times, Values: s.Values, Labels: make([]dashboard.Label, len(s.Labels))}
		for j, l := range s.Labels {
			answer.Series[i].Labels[j] = dashboard.Label(l)
		}
	}
	return answer, nil
}

func drawnSeries(all []dashboard.Series) []*hubv1.MetricSeries {
	out := make([]*hubv1.MetricSeries, len(all))
	for i, s := range all {
		out[i] = &hubv1.MetricSeries{Labels: make([]*hubv1.MetricLabel, len(s.Labels)), Times: s.Times, Values: s.Values, Legend: cmp.Or(s.Legend, "value")}
		for j, l := range s.Labels {
			out[i].Labels[j] = &hubv1.MetricLabel{Name: l.Name, Value: l.Value}
		}
	}
	return out
}
