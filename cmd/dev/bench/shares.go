package bench

import "context"

// benchShares measures what full pools cost those who have filled none.
func benchShares(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./hub", "BenchmarkFullPools", "1x", "pools/hub", "admin-empty-us", "admin-full-us", "admin-full-ratio", "admin-pressed-ratio",
		"delivery-empty-us", "delivery-full-us", "delivery-full-ratio", "delivery-pressed-ratio")
	if err != nil {
		return nil, err
	}
	full := func(what, of string) value {
		return most(value{What: "p99 of " + what + ", all pools full, divided by that with empty ones", Value: n[of+"-full-ratio"], Unit: "×",
			Reference: decimal(n[of+"-full-us"]/1000) + " ms against " + decimal(n[of+"-empty-us"]/1000) + " ms, same run"}, 3)
	}
	pressed := func(what, of string) value {
		return value{What: "the same of " + what + ", while a stranger besides tries again without waiting", Value: n[of+"-pressed-ratio"], Unit: "×"}
	}
	const admin, delivery = "an administrator's call", "another project's delivery"
	return &record{
		Settings: map[string]any{"pools": n["pools/hub"], "rounds": 3, "calls in a round": 500},
		Values:   []value{full(admin, "admin"), full(delivery, "delivery"), pressed(admin, "admin"), pressed(delivery, "delivery")},
	}, nil
}
