package bench

import "context"

// benchShares measures what full pools cost those who have filled none.
func benchShares(ctx context.Context, _ *bench) (*record, error) {
	measured := []struct {
		of, what string
		states   []string
	}{
		{"hub", "an administrator's call to the hub", []string{"full", "loops", "pressed"}},
		{"cluster", "an administrator's call to a cluster, through its tunnel", []string{"full", "loops", "pressed"}},
		{"delivery", "another project's delivery, from its push to the API server of the cluster", []string{"full", "loops", "pressed"}},
	}
	units := []string{"pools/all"}
	for _, m := range measured {
		units = append(units, m.of+"-empty-ms")
		for _, state := range m.states {
			units = append(units, m.of+"-"+state+"-ms", m.of+"-"+state+"-ratio")
		}
	}
	n, _, err := goBenchmark(ctx, "./test/field", "BenchmarkFullPools", "1x", units...)
	if err != nil {
		return nil, err
	}
	r := &record{Settings: map[string]any{"pools": n["pools/all"], "rounds": 3, "calls in a round": 500, "deliveries in a round": 60}}
	for _, m := range measured {
		for _, state := range m.states {
			v := value{What: "p99 of " + m.what + ", " + map[string]string{"full": "all pools full", "loops": "a guest's charts loop on the cluster", "pressed": "all pools full and a stranger tries again without waiting"}[state] + ", divided by that with empty pools",
				Value: n[m.of+"-"+state+"-ratio"], Unit: "×", Reference: decimal(n[m.of+"-"+state+"-ms"]) + " ms against " + decimal(n[m.of+"-empty-ms"]) + " ms, same run"}
			if state != "pressed" {
				v = most(v, 3)
			}
			r.Values = append(r.Values, v)
		}
	}
	return r, nil
}
