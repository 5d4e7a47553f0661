package agent

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/agent/cache"
)

// transfers counts downloads from the hub and reports rejected ones.
type transfers struct {
	bytes, count *prometheus.CounterVec
	resumed      prometheus.Counter
	// refused reports to the hub; nil until there is a client.
	refused func(what string)
}

func newTransfers(r prometheus.Registerer) *transfers {
	vec := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"kind"})
	}
	t := &transfers{
		bytes: vec("axle_agent_tarball_received_bytes_total", "Bytes of tarballs received, by kind: whole, delta, or refused because they were not the requested content."),
		count: vec("axle_agent_tarballs_received_total", "Such downloads."),
		resumed: prometheus.NewCounter(prometheus.CounterOpts{Name: "axle_agent_tarballs_resumed_total",
			Help: "Downloads that resumed an interrupted one."}),
	}
	r.MustRegister(t.bytes, t.count, t.resumed)
	return t
}

// observe is called by the cache after each download.
func (t *transfers) observe(x cache.Transfer) {
	kind := "whole"
	switch {
	case x.Refused:
		kind = "refused"
	case x.Delta:
		kind = "delta"
	}
	t.bytes.WithLabelValues(kind).Add(float64(x.Bytes))
	t.count.WithLabelValues(kind).Inc()
	if x.Resumed {
		t.resumed.Inc()
	}
	if x.Refused && t.refused != nil {
		form := "tarball"
		if x.Delta {
			form = "delta"
		}
		t.refused(fmt.Sprintf("%s %s refused: its content is not what the hub named; it came from %s; something between the agent and the hub, or a disk there, altered it", form, x.Digest.Short(), x.From))
	}
}
