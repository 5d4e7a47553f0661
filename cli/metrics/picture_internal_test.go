package metrics

import (
	"math"
	"strings"
	"testing"
)

// A graph in a terminal has the same lowest and highest bars as its values, in at most 40
// columns; a short peak among many values is still seen.
func TestAPictureGoesFromTheLowestToTheHighest(t *testing.T) {
	peak := make([]float64, 4000)
	peak[1050] = 3
	for name, c := range map[string]struct {
		values []float64
		want   string
	}{
		"rising":       {[]float64{0, 1, 2, 3, 4, 5, 6, 7}, "▁▂▃▄▅▆▇█"},
		"below zero":   {[]float64{-2, 0, -2}, "▁█▁"},
		"flat":         {[]float64{5, 5, 5}, "▁▁▁"},
		"one value":    {[]float64{0.25}, "▁"},
		"without end":  {[]float64{1, math.Inf(1)}, "▁▁"},
		"a short peak": {peak, strings.Repeat("▁", 10) + "█" + strings.Repeat("▁", 29)},
	} {
		if got := picture(c.values); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
