package console

import (
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/observeapi"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/routes"
)

// observeActions are the rows of access for the metrics, logs and alerts of clusters:
// whoever may read a cluster asks, and the cluster says of which namespaces; observeScopes
// are those of scopes.
var (
	observeActions = map[string]identity.Action{
		hubv1connect.ObservabilitySourcesProcedure: identity.ActionRead,
		hubv1connect.MetricsQueryProcedure:         identity.ActionRead,
		hubv1connect.MetricsSeriesProcedure:        identity.ActionRead,
		hubv1connect.MetricsLabelValuesProcedure:   identity.ActionRead,
		hubv1connect.MetricsPanelsProcedure:        identity.ActionRead,
	}
	observeScopes = map[string]finder{
		hubv1connect.ObservabilitySourcesProcedure: ofUsedCluster,
		hubv1connect.MetricsQueryProcedure:         ofUsedCluster,
		hubv1connect.MetricsSeriesProcedure:        ofUsedCluster,
		hubv1connect.MetricsLabelValuesProcedure:   ofUsedCluster,
		hubv1connect.MetricsPanelsProcedure:        ofUsedCluster,
	}
)

// registerObserve adds the services about the metrics, logs and alerts of clusters.
func (s *Server) registerObserve(mux routes.Adder, records *recorder) {
	api := &observeapi.API{Observer: s.config.Observer, Find: s.config.Fleet.ClusterNamed, Caller: caller}
	mux.Handle(handle[hubv1connect.ObservabilityHandler](s, records, hubv1connect.NewObservabilityHandler, api))
	mux.Handle(handle[hubv1connect.MetricsHandler](s, records, hubv1connect.NewMetricsHandler, api))
}
