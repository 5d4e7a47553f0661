package bench

import "context"

// benchShares measures what full pools cost those who have filled none.
func benchShares(ctx context.Context, _ *bench) (*record, error) {
	measured := []struct{ of, what string }{
		{"hub", "an administrator's call to the hub"},
		{"cluster", "an administrator's call to a cluster, through its tunnel"},
		{"delivery", "another project's delivery, from its push to the API server of the cluster"},
	}
	states := []struct{ name, what string }{
		{"full", "all pools full"}, {"loops", "a guest's charts loop on the cluster"}, {"pressed", "all pools full and a stranger tries again without waiting"},
	}
	units := []string{"pools/all"}
	for _, m := range measured {
		units = append(units, m.of+"-empty-ms")
		for _, state := range states {
			units = append(units, m.of+"-"+state.name+"-ms", m.of+"-"+state.name+"-ratio")
		}
	}
	n, _, err := goBenchmark(ctx, "./test/field", "BenchmarkFullPools", "1x", units...)
	if err != nil {
		return nil, err
	}
	r := &record{Settings: map[string]any{"pools": n["pools/all"], "rounds": 3, "calls in a round": 500, "deliveries in a round": 60}}
	for _, m := range measured {
		for _, state := range states {
			of := m.of + "-" + state.name
			v := value{What: "p99 of " + m.what + ", " + state.what + ", divided by that with empty pools", Value: n[of+"-ratio"], Unit: "×",
				Reference: decimal(n[of+"-ms"]) + " ms against " + decimal(n[m.of+"-empty-ms"]) + " ms, same run"}
			// Loops and a stranger take processor time, which the hub has on a machine of its own.
			if state.name == "full" || of == "delivery-loops" {
				v = most(v, 3)
			}
			r.Values = append(r.Values, v)
		}
	}
	return r, nil
}
