package observeapi

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

// mostAsked is how many clusters are asked for the worst alerts, and mostWorst how many of
// these are returned.
const mostAsked, mostWorst = 20, 20

// Alerts answers the calls about the alerts of clusters.
type Alerts struct {
	*API
	// Reachable are the clusters of a project, or of all, that the caller may read and that
	// have a tunnel: some with the worst verdict, and how many there are.
	Reachable func(ctx context.Context, project string, most int) (clusters []observe.Cluster, total int64, err error)
}

// List implements hubv1connect.ClusterAlertsHandler.
func (a *Alerts) List(ctx context.Context, r *connect.Request[hubv1.ListClusterAlertsRequest]) (*connect.Response[hubv1.ListClusterAlertsResponse], error) {
	ask, err := a.Ask(ctx, r.Peer(), r.Msg.GetCluster(), "", telemetry.Alertmanager)
	if err != nil {
		return nil, err
	}
	found, err := a.Observer.Alerts(ctx, ask.Caller, ask.Cluster)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListClusterAlertsResponse{Namespaces: Namespaces(found.Namespaces), Pending: int32(found.Pending), LeftOut: int32(found.Cut), Notices: found.Notices}
	for _, s := range found.Sources {
		out.Sources = append(out.Sources, Source(s))
	}
	for _, one := range found.Alerts {
		if r.Msg.GetNamespace() == "" || r.Msg.GetNamespace() == one.Namespace {
			out.Alerts = append(out.Alerts, a.alert(ask.Cluster.Name, one))
		}
	}
	return connect.NewResponse(out), nil
}

// Worst implements hubv1connect.ClusterAlertsHandler.
func (a *Alerts) Worst(ctx context.Context, r *connect.Request[hubv1.WorstAlertsRequest]) (*connect.Response[hubv1.WorstAlertsResponse], error) {
	if a.Observer == nil {
		return nil, errcode.New(errcode.Unavailable, "this hub reaches no clusters")
	}
	clusters, total, err := a.Reachable(ctx, r.Msg.GetProject(), mostAsked)
	if err != nil {
		return nil, err
	}
	out := &hubv1.WorstAlertsResponse{Asked: int32(len(clusters)), NotAsked: total - int64(len(clusters))}
	by := observe.Caller{Principal: a.Caller(ctx), Source: address.Host(r.Peer().Addr)}
	var worst []observe.ClusterAlert
	for _, answer := range a.Observer.AlertsOf(ctx, by, clusters) {
		if answer.Err != nil {
			continue // the cluster's page says why
		}
		for _, one := range answer.Alerts.Alerts {
			if one.NeedsPerson() {
				worst = append(worst, observe.ClusterAlert{Cluster: answer.Cluster.Name, Alert: one})
			}
		}
	}
	observe.SortWorst(worst)
	out.LeftOut = int32(max(0, len(worst)-mostWorst))
	for _, one := range worst[:min(len(worst), mostWorst)] {
		out.Alerts = append(out.Alerts, &hubv1.WorstAlert{Cluster: one.Cluster, Alert: a.alert(one.Cluster, one.Alert)})
	}
	return connect.NewResponse(out), nil
}

// Links implements hubv1connect.ClusterAlertsHandler.
func (a *Alerts) Links(ctx context.Context, r *connect.Request[hubv1.ClusterLinksRequest]) (*connect.Response[hubv1.ClusterLinksResponse], error) {
	ask, err := a.Ask(ctx, r.Peer(), r.Msg.GetCluster(), "", telemetry.Alertmanager)
	if err != nil {
		return nil, err
	}
	p := observe.Place{On: "cluster", Cluster: ask.Cluster.Name, Namespace: r.Msg.GetNamespace(), Service: r.Msg.GetService(), Pod: r.Msg.GetPod()}
	switch {
	case p.Pod != "":
		p.On = "pod"
	case p.Service != "":
		p.On = "service"
	}
	return connect.NewResponse(&hubv1.ClusterLinksResponse{Links: links(a.Observer.Links(p))}), nil
}

func (a *Alerts) alert(cluster string, one observe.Alert) *hubv1.ClusterAlert {
	place := observe.Place{On: "alert", Cluster: cluster, Namespace: one.Namespace, Service: one.Service, Pod: one.Pod, Alert: one.Name}
	if one.Since != 0 {
		place.Since = clock.FromMicros(one.Since)
	}
	out := &hubv1.ClusterAlert{
		Id: one.ID, Name: one.Name, Severity: one.Severity, State: one.State, Namespace: one.Namespace, Pod: one.Pod, Service: one.Service,
		Summary: one.Summary, Description: one.Description, RunbookUrl: one.Runbook, GeneratorUrl: one.Origin, Since: one.Since, Sources: slices.Clone(one.Sources),
		Links: links(a.Observer.Links(place)),
	}
	for _, l := range one.Labels {
		out.Labels = append(out.Labels, &hubv1.MetricLabel{Name: l.Name, Value: l.Value})
	}
	for _, s := range one.Silences {
		at := place
		at.On, at.Silence = "silence", s.ID
		out.Silences = append(out.Silences, &hubv1.AlertSilence{Id: s.ID, Comment: s.Comment, CreatedBy: s.By, Until: s.Until, Links: links(a.Observer.Links(at))})
	}
	return out
}

func links(all []observe.Link) (out []*hubv1.ClusterLink) {
	for _, l := range all {
		out = append(out, &hubv1.ClusterLink{Title: l.Title, Url: l.URL})
	}
	return out
}
