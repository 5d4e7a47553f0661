package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/test/agentmem"
)

// memorySizes are the sizes of a cluster that have budgets, in MiB.
var memorySizes = []struct {
	services, objects int
	idle, most        float64
}{
	{100, 4, 48, 0},
	{500, 200, 512, 512},
}

func benchAgentMemory(ctx context.Context, b *bench) (*record, error) {
	r := &record{Settings: map[string]any{"kinds": "of ten objects, 5 ConfigMaps, 2 Deployments that never become ready, a Secret, a Service and a Role"}}
	for _, size := range memorySizes {
		got, err := agentmem.Measure(ctx, agentmem.Config{Services: size.services, Objects: size.objects, Limit: time.Hour, Progress: b.say})
		if err != nil {
			return nil, fmt.Errorf("%d services of %d objects: %w", size.services, size.objects, err)
		}
		of := fmt.Sprintf("%d services of %d objects: ", size.services, size.objects)
		bounded := func(what string, mib, budget float64) value {
			v := value{What: of + what, Value: mib, Unit: "MiB"}
			if budget > 0 {
				v = most(v, budget)
			}
			return v
		}
		r.Values = append(r.Values,
			value{What: of + "size of an object, including managedFields", Value: got.ObjectBytes, Unit: "B"},
			bounded("idle", got.Idle, size.idle),
			bounded("largest during the installation", got.Installed, size.most),
			bounded("idle after a restart", got.RestartedIdle, size.idle),
			bounded("largest after a restart", got.Restarted, size.most))
	}
	return r, nil
}

// manyRefs are the numbers of BenchmarkManyRefs.
var manyRefs = []struct{ what, unit, shown string }{
	{"clone of 50,000 commits and refs", "s/clone", "s"},
	{"read of the table after a fetch", "s/table", "s"},
	{"memory per ref in the table", "bytes/ref", "B"},
	{"poll of one branch", "ms/poll", "ms"},
	{"list of all branches, compared with the table", "ms/list", "ms"},
}

func benchRefs(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./hub/gitcache/gitagent", "BenchmarkManyRefs", "2x")
	if err != nil {
		return nil, err
	}
	r := &record{Settings: map[string]any{"repository": "50,001 branches", "runs": 2}}
	for _, one := range manyRefs {
		if _, ok := n[one.unit]; !ok {
			return nil, fmt.Errorf("the benchmark printed no %q", one.unit)
		}
		r.Values = append(r.Values, value{What: one.what, Value: n[one.unit], Unit: one.shown})
	}
	return r, nil
}
