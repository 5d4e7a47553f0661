package console

import (
	"context"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/observeapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/routes"
)

// observeRules are the rules of the calls about the metrics, logs and alerts of clusters:
// whoever may read a cluster asks, and the cluster says of which namespaces.
var observeRules = map[string]rule{
	hubv1connect.ObservabilitySourcesProcedure: {identity.ActionRead, ofUsedCluster},
	hubv1connect.MetricsQueryProcedure:         {identity.ActionRead, ofUsedCluster},
	hubv1connect.MetricsSeriesProcedure:        {identity.ActionRead, ofUsedCluster},
	hubv1connect.MetricsLabelValuesProcedure:   {identity.ActionRead, ofUsedCluster},
	hubv1connect.MetricsPanelsProcedure:        {identity.ActionRead, ofUsedCluster},
	hubv1connect.ClusterAlertsListProcedure:    {identity.ActionRead, ofUsedCluster},
	hubv1connect.ClusterAlertsWorstProcedure:   {identity.ActionRead, anywhere},
	hubv1connect.ClusterAlertsLinksProcedure:   {identity.ActionRead, ofUsedCluster},
	hubv1connect.DashboardsDrawProcedure:       {identity.ActionRead, ofUsedCluster},
}

func (s *Server) observe() *observeapi.API {
	return &observeapi.API{Observer: s.config.Observer, Find: s.config.Fleet.ClusterNamed, Caller: caller}
}

// registerObserve adds the services about the metrics, logs and alerts of clusters.
func (s *Server) registerObserve(mux routes.Adder, records *recorder) {
	api := s.observe()
	mux.Handle(handle[hubv1connect.ObservabilityHandler](s, records, hubv1connect.NewObservabilityHandler, api))
	mux.Handle(handle[hubv1connect.MetricsHandler](s, records, hubv1connect.NewMetricsHandler, api))
	mux.Handle(handle[hubv1connect.ClusterAlertsHandler](s, records, hubv1connect.NewClusterAlertsHandler, &observeapi.Alerts{API: api, Reachable: s.reachable}))
	mux.Handle(handle[hubv1connect.DashboardsHandler](s, records, hubv1connect.NewDashboardsHandler, api))
}

// reachable are the clusters of a project, or of all, that the caller may read and that have a
// tunnel: those with the worst verdict, and how many there are.
func (s *Server) reachable(ctx context.Context, project string, most int) ([]observe.Cluster, int64, error) {
	reach, err := s.readable(ctx)
	if err != nil {
		return nil, 0, err
	}
	filter := index.ClusterFilter{Tunnel: []string{"Up"}}
	if project != "" {
		filter.Project = []string{project}
	}
	page, err := s.config.Index.Clusters(filter, index.Window{Sort: "verdict", Limit: most}, reach)
	if err != nil {
		return nil, 0, err
	}
	ids := make([]string, len(page.Hits))
	for i, h := range page.Hits {
		ids[i] = h.ID
	}
	known, err := s.config.Fleet.ClustersByID(ctx, ids, func(string) fleet.Tally { return fleet.Tally{} })
	if err != nil {
		return nil, 0, err
	}
	var out []observe.Cluster
	for _, id := range ids {
		if c, ok := known[id]; ok {
			out = append(out, observe.Cluster{ID: c.ID, Name: c.Name, Handle: c.Handle, ProjectID: c.ProjectID})
		}
	}
	return out, page.Total, nil
}
