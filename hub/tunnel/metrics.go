package tunnel

import "github.com/prometheus/client_golang/prometheus"

// metrics of the tunnels of this replica.
type metrics struct {
	accepted, lost, dead, revoked prometheus.Counter
	opened, forwarded, stalled    prometheus.Counter
	hints                         *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, t *Tunnels) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			t.mu.Lock()
			defer t.mu.Unlock()
			return float64(value())
		})
	}
	m := &metrics{
		accepted:  counter("axle_tunnel_accepted_total", "Tunnels that agents opened here."),
		lost:      counter("axle_tunnel_lost_total", "Clusters that lost their tunnel without getting another."),
		dead:      counter("axle_tunnel_dead_total", "Tunnels closed because a request waited and the agent was silent."),
		revoked:   counter("axle_tunnel_revoked_total", "Tunnels closed because their token was revoked."),
		opened:    counter("axle_tunnel_streams_total", "Requests to clusters that began here, including those for other replicas."),
		forwarded: counter("axle_tunnel_forwarded_total", "Of those, requests that went to the replica that has the tunnel."),
		stalled:   counter("axle_tunnel_stalled_total", "Requests closed because their client read nothing for 30 s."),
		hints:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "axle_tunnel_hints_total", Help: "Hints delivered to agents, by reason: desired, token."}, []string{"reason"}),
	}
	if r != nil {
		r.MustRegister(m.accepted, m.lost, m.dead, m.revoked, m.opened, m.forwarded, m.stalled, m.hints,
			gauge("axle_tunnel_up", "Clusters whose tunnel is at this replica.", func() int { return len(t.current) }),
			gauge("axle_tunnel_old", "Older connections with requests that are still running.", func() int { return len(t.old) }),
			gauge("axle_tunnel_streams", "Running requests to clusters.", func() int { return len(t.streams) }))
	}
	return m
}
