// Package promtext computes histograms from two readings of a process's metrics.
// Benchmarks call it; it knows no metric names and makes no requests.
package promtext

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Quantile returns the bound below which a share of the observations between two
// readings lies.
func Quantile(before, after map[string]float64, name string, q float64) float64 {
	type bucket struct{ bound, n float64 }
	var list []bucket
	for series, n := range after {
		rest, ok := strings.CutPrefix(series, name+`_bucket{le="`)
		if !ok {
			continue
		}
		bound, err := strconv.ParseFloat(strings.TrimSuffix(rest, `"}`), 64)
		if err == nil {
			list = append(list, bucket{bound, n - before[series]})
		}
	}
	slices.SortFunc(list, func(a, b bucket) int {
		if a.bound < b.bound {
			return -1
		}
		return 1
	})
	if len(list) == 0 || list[len(list)-1].n == 0 {
		return 0
	}
	total, below, last := list[len(list)-1].n, 0.0, 0.0
	for _, b := range list {
		if b.n >= q*total {
			if math.IsInf(b.bound, 1) || b.n == below {
				return last
			}
			return last + (b.bound-last)*(q*total-below)/(b.n-below)
		}
		below, last = b.n, b.bound
	}
	return last
}
