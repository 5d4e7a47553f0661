package bench

import "context"

// benchSignIns measures what a login to an application costs.
func benchSignIns(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./hub", "BenchmarkSignIns", "1x", "flows/core-s", "refreshes/core-s", "plain-flows/core-s", "plain-refreshes/core-s", "passwords/core-s")
	if err != nil {
		return nil, err
	}
	const ready = "answers of the same sizes that are ready, by the same client, same run"
	beside := func(what, of string) value {
		return value{What: what, Value: n[of+"/core-s"], Unit: "per core-second of hub, database and client", Reference: ratio(n[of+"/core-s"], n["plain-"+of+"/core-s"], ready)}
	}
	return &record{
		Settings: map[string]any{"applications": 20, "runs": 600, "database": "SQLite", "signature": "RS256"},
		Values: []value{
			beside("code flows with a session: authorization, code, ID token, access and refresh token", "flows"),
			beside("refreshes, with a new ID token", "refreshes"),
			{What: "passwords checked", Value: n["passwords/core-s"], Unit: "per core-second", Reference: "bound by Argon2, and by design"},
		},
	}, nil
}
