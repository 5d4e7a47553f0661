package sdk

import (
	"connectrpc.com/connect"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
)

// observed are the services about the metrics, logs and alerts of clusters.
type observed struct {
	Observability hubv1connect.ObservabilityClient
	Metrics       hubv1connect.MetricsClient
	Dashboards    hubv1connect.DashboardsClient
}

func newObserved(c connect.HTTPClient, base string, options ...connect.ClientOption) observed {
	return observed{
		Observability: hubv1connect.NewObservabilityClient(c, base, options...),
		Metrics:       hubv1connect.NewMetricsClient(c, base, options...),
		Dashboards:    hubv1connect.NewDashboardsClient(c, base, options...),
	}
}
