package specrules_test

import (
	"encoding/json"
	"testing"

	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzChartValues reads any text as the secret with values of a chart.
func FuzzChartValues(f *testing.F) {
	for _, text := range []string{`{"a":{"b":[1,9007199254740993,"c"]}}`, `{"a":1}{"b":2}`, `{"a":1} `, `[]`, `null`, ``, `{"a":[[],[],{}]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		taken.Few(t, len(text), func() {
			if values := specrules.ChartValues(text); values != nil {
				if _, err := json.Marshal(values); err != nil {
					t.Error(err)
				}
			}
		})
	})
}
