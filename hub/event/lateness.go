package event

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// newLateness returns the histogram of how far this replica's indexes are
// behind commits. It includes clock differences between replicas.
func newLateness(r prometheus.Registerer) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "axle_feed_apply_seconds", Help: "Time from a commit to when this replica's indexes held it.",
		Buckets: []float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 20},
	})
	if r != nil {
		r.MustRegister(h)
	}
	return h
}

// observe records how late rows were applied, once per transaction.
func (f *Feed) observe(rows []Row) {
	now, last := f.clock.Now(), int64(-1)
	for _, r := range rows {
		if r.Sequence == last || r.At == 0 {
			continue
		}
		last = r.Sequence
		f.late.Observe(max(0, now.Sub(time.UnixMicro(r.At)).Seconds()))
	}
}
