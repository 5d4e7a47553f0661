package metrics

import (
	"testing"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzDashboards reads any answer of a cluster as its Dashboards, and as one.
func FuzzDashboards(f *testing.F) {
	for _, text := range []string{`{"items":[{"metadata":{"namespace":"a","name":"b"},"spec":{"name":"n","graphs":[{"name":"g","queries":[{"query":"up"}]}]}},{},{"spec":[]}]}`, `{"metadata":{"name":"b"},"spec":null}`, `{"items":{}}`, `[]`, `null`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, one := range []bool{false, true} {
			taken.Few(t, len(text), func() {
				all, err := entries(text, one)
				for _, e := range all {
					_, _ = e.message()
				}
				if err == nil && one && len(all) != 1 {
					t.Errorf("%d of one", len(all))
				}
			})
		}
	})
}
