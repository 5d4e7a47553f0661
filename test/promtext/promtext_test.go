package promtext_test

import (
	"testing"

	"github.com/axle-cd/axle/test/promtext"
)

func TestQuantileLooksAtTheTimeBetween(t *testing.T) {
	before := map[string]float64{`lag_bucket{le="0.1"}`: 100, `lag_bucket{le="1"}`: 100, `lag_bucket{le="+Inf"}`: 100}
	after := map[string]float64{`lag_bucket{le="0.1"}`: 150, `lag_bucket{le="1"}`: 200, `lag_bucket{le="+Inf"}`: 200}
	if got := promtext.Quantile(before, after, "lag", 0.5); got != 0.1 {
		t.Errorf("median %v, want 0.1", got)
	}
	if got := promtext.Quantile(before, after, "lag", 0.99); got < 0.9 || got > 1 {
		t.Errorf("p99 %v, want almost 1", got)
	}
	if got := promtext.Quantile(after, after, "lag", 0.99); got != 0 {
		t.Errorf("p99 of nothing is %v", got)
	}
}
