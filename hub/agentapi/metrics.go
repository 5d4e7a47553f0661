package agentapi

import "github.com/prometheus/client_golang/prometheus"

// metrics of the edge, resolved once so that a poll pays an addition.
type metrics struct {
	pollUnchanged, pollChanged, pollRefused prometheus.Counter
	tarballs, tarballBytes                  prometheus.Counter
	reports, resyncs                        prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	polls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_agent_polls_total", Help: "Polls of agents by what they got: unchanged, changed, refused."}, []string{"result"})
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		pollUnchanged: polls.WithLabelValues("unchanged"),
		pollChanged:   polls.WithLabelValues("changed"),
		pollRefused:   polls.WithLabelValues("refused"),
		tarballs:      counter("axle_agent_tarballs_total", "Tarballs that agents asked for and got."),
		tarballBytes:  counter("axle_agent_tarball_bytes_total", "Bytes of tarballs sent to agents."),
		reports:       counter("axle_agent_reports_total", "Service reports that were stored."),
		resyncs:       counter("axle_agent_resyncs_total", "Service reports that did not build on what is stored."),
	}
	if r != nil {
		r.MustRegister(polls, m.tarballs, m.tarballBytes, m.reports, m.resyncs)
	}
	return m
}
