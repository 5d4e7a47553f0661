package observeapi

import (
	"context"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/telemetry"
)

// Query implements hubv1connect.MetricsHandler.
func (a *API) Query(ctx context.Context, r *connect.Request[hubv1.QueryMetricsRequest]) (*connect.Response[hubv1.QueryMetricsResponse], error) {
	target, err := a.metrics(ctx, r.Peer(), r.Msg)
	if err != nil {
		return nil, err
	}
	m := r.Msg
	result, err := target.Query(ctx, observe.MetricQuery{
		Query: m.GetQuery(), At: at(m.GetTimeMicros()), Range: m.GetStartMicros() != 0, Start: at(m.GetStartMicros()), End: at(m.GetEndMicros()),
		Step: time.Duration(m.GetStepMicros()) * time.Microsecond, Raw: m.GetRaw(),
	})
	if err != nil {
		return nil, err
	}
	out := &hubv1.QueryMetricsResponse{
		ResultType: result.Type, Text: result.Text, Source: Source(target.Source), Namespaces: Namespaces(target.Namespaces), Sent: result.Sent,
		NewestMicros: result.Newest, Notices: result.Notices, SeriesCut: int32(result.Cut), Series: series(result.Series),
		Stats:       &hubv1.MetricStats{Samples: result.Samples, TookMicros: result.Took.Microseconds(), Bytes: result.Bytes},
		StartMicros: micros(result.Start), EndMicros: micros(result.End), StepMicros: result.Step.Microseconds(),
	}
	return connect.NewResponse(out), nil
}

// metrics resolves the store of a question about metrics.
func (a *API) metrics(ctx context.Context, peer connect.Peer, m interface {
	GetCluster() string
	GetSource() string
}) (*observe.Target, error) {
	ask, err := a.Ask(ctx, peer, m.GetCluster(), m.GetSource(), telemetry.Prometheus)
	if err != nil {
		return nil, err
	}
	return a.Observer.Resolve(ctx, ask)
}

func series(all []observe.Series) []*hubv1.MetricSeries {
	out := make([]*hubv1.MetricSeries, len(all))
	for i, s := range all {
		out[i] = &hubv1.MetricSeries{Labels: make([]*hubv1.MetricLabel, len(s.Labels)), Times: s.Times, Values: s.Values}
		for j, l := range s.Labels {
			out[i].Labels[j] = &hubv1.MetricLabel{Name: l.Name, Value: l.Value}
		}
	}
	return out
}

// Series implements hubv1connect.MetricsHandler.
func (a *API) Series(ctx context.Context, r *connect.Request[hubv1.MetricSeriesRequest]) (*connect.Response[hubv1.MetricSeriesResponse], error) {
	target, err := a.metrics(ctx, r.Peer(), r.Msg)
	if err != nil {
		return nil, err
	}
	all, cut, notices, err := target.Series(ctx, observe.SeriesQuery{Match: r.Msg.GetMatch(), Start: at(r.Msg.GetStartMicros()), End: at(r.Msg.GetEndMicros())})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.MetricSeriesResponse{Series: series(all), Notices: notices, SeriesCut: int32(cut)}), nil
}

// LabelValues implements hubv1connect.MetricsHandler.
func (a *API) LabelValues(ctx context.Context, r *connect.Request[hubv1.MetricLabelValuesRequest]) (*connect.Response[hubv1.MetricLabelValuesResponse], error) {
	target, err := a.metrics(ctx, r.Peer(), r.Msg)
	if err != nil {
		return nil, err
	}
	all, notices, err := target.LabelValues(ctx, observe.SeriesQuery{Match: r.Msg.GetMatch(), Label: r.Msg.GetLabel(), Start: at(r.Msg.GetStartMicros()), End: at(r.Msg.GetEndMicros())})
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.MetricLabelValuesResponse{Values: all, Notices: notices}), nil
}
