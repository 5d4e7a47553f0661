package bench

import (
	"context"
	"fmt"
)

// fleetQueries are the queries of BenchmarkQueries that have a budget.
var fleetQueries = []struct{ unit, what string }{
	{"unfiltered", "services, the first 200"},
	{"verdict", "services of one verdict"},
	{"text", "services by two words, one with a wildcard"},
	{"facets", "services of one verdict, with facets"},
	{"reported", "services by the time of their report"},
	{"named", "services by name"},
	{"end", "services, the last 200"},
	{"clusters", "clusters, the worst first, with facets"},
}

// benchFleetIndex measures lists of a hub with 10,000 clusters and 100,000 services.
func benchFleetIndex(ctx context.Context, _ *bench) (*record, error) {
	r := &record{Settings: map[string]any{"clusters": 10000, "services": 100000, "calls of each kind": 60}}
	for _, database := range []string{"sqlite", "postgres"} {
		n, _, err := goBenchmark(ctx, "./hub/console", "BenchmarkQueries/"+database, "1x", "s-rebuild", "MiB-heap")
		if err != nil {
			return nil, err
		}
		for _, q := range fleetQueries {
			value := value{What: fmt.Sprintf("%s: %s, p95", database, q.what), Value: n["ms-p95-"+q.unit], Unit: "ms"}
			r.Values = append(r.Values, most(value, 80))
		}
		for unit, what := range map[string]string{"summary": "summary", "heatmap": "heat map of 10,000 cells", "search": "search by name", "window500": "services, 500 with facets"} {
			r.Values = append(r.Values, value{What: fmt.Sprintf("%s: %s, p95", database, what), Value: n["ms-p95-"+unit], Unit: "ms"})
		}
		r.Values = append(r.Values,
			value{What: database + ": the index is loaded", Value: n["s-rebuild"], Unit: "s"},
			most(value{What: database + ": heap of the whole hub", Value: n["MiB-heap"], Unit: "MiB"}, 1536))
	}
	n, _, err := goBenchmark(ctx, "./hub/fleet/index", "BenchmarkMemory", "1x", "B/service")
	if err != nil {
		return nil, err
	}
	r.Values = append(r.Values, most(value{What: "memory per service, with a tenth of its cluster", Value: n["B/service"], Unit: "B"}, 300))
	return r, nil
}
