package gitcache

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/gitcache/nodecache"
)

// metrics of the cache. Labels have few, closed values: no repository, no
// digest.
type metrics struct {
	passes  *prometheus.CounterVec
	seconds prometheus.Histogram
	served  *prometheus.CounterVec
	deltas  *prometheus.CounterVec
	saved   prometheus.Counter
	moves   prometheus.Counter
	copies  prometheus.Counter
}

func newMetrics(r prometheus.Registerer, node *nodecache.Cache) *metrics {
	m := &metrics{
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_gitcache_passes_total",
			Help: "Times that an upstream's refs were listed, by whether objects were fetched and whether it succeeded."}, []string{"fetched", "ok"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "axle_gitcache_pass_seconds",
			Help: "How long such a pass took, until heads were written.", Buckets: []float64{.05, .2, 1, 5, 20, 60, 300, 1800}}),
		served: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_gitcache_tarballs_total",
			Help: "Tarballs opened, by where they were found: disk, built (here), owner, replica (another one), or none."}, []string{"from"}),
		deltas: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_gitcache_deltas_total",
			Help: "Deltas requested, by result: stored, made, or none."}, []string{"result"}),
		saved: prometheus.NewCounter(prometheus.CounterOpts{Name: "axle_gitcache_delta_saved_bytes_total",
			Help: "Bytes saved by serving deltas instead of the whole tarballs."}),
		moves: prometheus.NewCounter(prometheus.CounterOpts{Name: "axle_gitcache_moves_total",
			Help: "Repositories that this replica moved off a healthy owner, while it placed repositories."}),
		copies: prometheus.NewCounter(prometheus.CounterOpts{Name: "axle_gitcache_copies_total",
			Help: "Times that this replica copied changes of a repository, or all of it, from another replica."}),
	}
	if r != nil {
		r.MustRegister(m.passes, m.seconds, m.served, m.deltas, m.saved, m.moves, m.copies,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "axle_gitcache_stored_bytes", Help: "Bytes of tarballs on this replica's disk."},
				func() float64 { _, n := node.Usage(); return float64(n) }))
	}
	return m
}

func (m *metrics) pass(fetched bool, err error, took time.Duration) {
	m.passes.WithLabelValues(strconv.FormatBool(fetched), strconv.FormatBool(err == nil)).Inc()
	m.seconds.Observe(took.Seconds())
}

// watch registers how much this replica owns and follows, and the age of the
// upstream that was read longest ago.
func watch(r prometheus.Registerer, owned, followed func() int, ages *ages) {
	if r == nil {
		return
	}
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	r.MustRegister(ages,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "axle_gitcache_fetch_age_seconds",
			Help: "Longest time since an upstream that this replica fetches was last read; at most about twice the poll interval while upstreams are healthy."}, ages.oldest),
		gauge("axle_gitcache_owned_repositories", "Repositories that this replica fetches.", owned),
		gauge("axle_gitcache_followed_repositories", "Repositories of which this replica keeps a second copy.", followed),
	)
}
