package agentapi

import "github.com/prometheus/client_golang/prometheus"

// metrics of the edge, resolved once so that a poll costs only an addition.
type metrics struct {
	pollUnchanged, pollChanged, pollRefused, pollCrowded prometheus.Counter
	tarballs, tarballBytes                               prometheus.Counter
	deltas, tarballResumes                               prometheus.Counter
	reports, resyncs, refusals                           prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	polls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_agent_polls_total", Help: "Polls of agents by what they got: unchanged, changed, refused, crowded (asked to come again, for many begin at once)."}, []string{"result"})
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		pollUnchanged:  polls.WithLabelValues("unchanged"),
		pollChanged:    polls.WithLabelValues("changed"),
		pollRefused:    polls.WithLabelValues("refused"),
		pollCrowded:    polls.WithLabelValues("crowded"),
		tarballs:       counter("axle_agent_tarballs_total", "Tarballs that agents asked for and got."),
		tarballBytes:   counter("axle_agent_tarball_bytes_total", "Bytes of tarballs sent to agents."),
		deltas:         counter("axle_agent_deltas_total", "Of those, answers with a delta instead of the whole."),
		tarballResumes: counter("axle_agent_tarball_resumes_total", "Of those, downloads that went on where an earlier one was cut."),
		reports:        counter("axle_agent_reports_total", "Service reports that were stored."),
		resyncs:        counter("axle_agent_resyncs_total", "Service reports that did not build on what is stored."),
	}
	m.refusals = counter("axle_agent_refusals_total", "Polls that reported a refusal of altered data: a list, specs, a tarball.")
	if r != nil {
		r.MustRegister(polls, m.tarballs, m.tarballBytes, m.deltas, m.tarballResumes, m.reports, m.resyncs, m.refusals)
	}
	return m
}
