package bench

import "context"

// benchWatchedList measures what the command line moves to show a list and its changes.
func benchWatchedList(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./cli", "BenchmarkWatchedList", "1x", "kB-first", "kB-refresh", "kB-idle", "kB-all")
	if err != nil {
		return nil, err
	}
	return &record{
		Settings: map[string]any{"clusters": 10000, "services": 100000, "services in the list": 10000, "services that change": 100},
		Values: []value{
			most(value{What: "a refresh after 100 services changed", Value: n["kB-refresh"], Unit: "kB"}, 50),
			most(value{What: "20 s in which nothing changes", Value: n["kB-idle"], Unit: "kB"}, 5),
			{What: "the first list, of 10,000 services in 20 pages", Value: n["kB-first"], Unit: "kB"},
			{What: "a list of all services in 200 pages", Value: n["kB-all"], Unit: "kB"},
		},
	}, nil
}
