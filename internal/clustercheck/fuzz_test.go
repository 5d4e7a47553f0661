package clustercheck_test

import (
	"encoding/json"
	"testing"

	"github.com/axle-cd/axle/internal/clustercheck"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzHolds evaluates checks with any variables and any status.
func FuzzHolds(f *testing.F) {
	var checks []clustercheck.Check
	for _, text := range []string{`variables.region.matches("^eu")`, `size(variables.pools) < 3`, `status.ready == 1.0`, `variables.pools.all(p, p.size > 0.0)`} {
		c, err := clustercheck.Compile(text)
		if err != nil {
			f.Fatal(err)
		}
		checks = append(checks, c)
	}
	f.Add(`{"region":"eu-1","pools":[{"size":1},{"size":-1},null]}`, `{"ready":1}`)
	f.Add(`{"region":7,"pools":{}}`, `null`)
	f.Add(`[]`, `""`)
	f.Fuzz(func(t *testing.T, variables, status string) {
		taken.Few(t, 8*(len(variables)+len(status)), func() {
			for _, c := range checks {
				_, _ = c.Holds(t.Context(), json.RawMessage(variables), json.RawMessage(status))
			}
		})
	})
}
