package bench

import "context"

// benchMonorepo measures what a commit costs that touches little of much.
func benchMonorepo(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./hub/gitcache", "BenchmarkMonorepo", "20x", "cpu-s/commit", "own-cpu-s/commit", "cpu-s/unrelated", "heads/commit", "messages/commit", "tarballs/commit", "cpu-s/start")
	if err != nil {
		return nil, err
	}
	one := func(what, unit string) value { return most(value{What: what, Value: n[unit]}, 1) }
	return &record{
		Settings: map[string]any{"repository": "200,000 files in 2,000 folders", "sources": 2000, "commits": 20},
		Values: []value{
			one("heads written per commit", "heads/commit"),
			one("messages in the feed per commit", "messages/commit"),
			one("tarballs built per commit", "tarballs/commit"),
			{What: "CPU per commit, hub", Value: n["own-cpu-s/commit"], Unit: "s"},
			{What: "CPU per commit, with git on both sides", Value: n["cpu-s/commit"], Unit: "s"},
			{What: "CPU per commit that touches no folder, with git on both sides", Value: n["cpu-s/unrelated"], Unit: "s"},
			{What: "CPU of the first look: 2,000 heads, including creation and clone of the repository", Value: n["cpu-s/start"], Unit: "s"},
		},
	}, nil
}
