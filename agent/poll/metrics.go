package poll

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/agent/poll/report"
)

// metrics are the agent's metrics; there is no label per service.
type metrics struct {
	polls     *prometheus.CounterVec
	passes    *prometheus.CounterVec
	reports   *prometheus.CounterVec
	downloads prometheus.Counter
}

func newMetrics(r prometheus.Registerer, l *Loop) *metrics {
	m := &metrics{
		polls:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_agent_polls_total", Help: "Polls by what they found: unchanged, changed, or held because the answer was not taken."}, []string{"result"}),
		passes:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_agent_passes_total", Help: "Passes of services by how they ended."}, []string{"result"}),
		reports:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_agent_reports_total", Help: "Reports by whether the hub took them."}, []string{"result"}),
		downloads: prometheus.NewCounter(prometheus.CounterOpts{Name: "axle_agent_full_downloads_total", Help: "Tarballs downloaded again to compare what runs with what the hub has."}),
	}
	if r == nil {
		return m
	}
	services := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "axle_agent_services", Help: "Services of the present list."},
		func() float64 { return float64(l.State().Services) })
	polled := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "axle_agent_last_poll_timestamp_seconds", Help: "When the hub last answered a poll."},
		func() float64 {
			at := l.State().PolledAt
			if at.IsZero() {
				return 0
			}
			return float64(at.Unix())
		})
	r.MustRegister(m.polls, m.passes, m.reports, m.downloads, services, polled)
	return m
}

func (m *metrics) observe(j *job, out outcome) {
	result := "applied"
	switch {
	case out.skipped:
		result = "unchanged"
	case out.trouble != nil:
		result = "failed"
	case out.gate != "":
		result = "waiting"
	case out.drain != nil:
		result = "leaving"
	case out.result != nil && out.result.Sync != report.SyncSynced:
		result = out.result.Sync
	}
	m.passes.WithLabelValues(result).Inc()
}
