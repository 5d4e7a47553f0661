package hub

import (
	"encoding/json"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/axle-cd/axle/hub/certificate"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
)

// readiness lists what /readyz checks, in this order.
type readiness struct {
	parts    []readyPart
	stopping atomic.Bool
}

type readyPart struct {
	name  string
	ready func() error
}

// healthz only reports that the process answers: a hub whose database is
// unavailable must not be restarted for it.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// A prober that went away asks again.
	_, _ = w.Write([]byte("ok\n"))
}

// ServeHTTP answers /readyz: 200 when every part is ready, otherwise 503 with
// the parts that are not.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	waiting := map[string]string{}
	if r.stopping.Load() {
		waiting["hub"] = "stopping"
	}
	for _, p := range r.parts {
		if err := p.ready(); err != nil {
			waiting[p.name] = errcode.Message(err)
		}
	}
	status := http.StatusOK
	if len(waiting) > 0 {
		status = http.StatusServiceUnavailable
	}
	body, err := json.Marshal(map[string]any{"ready": len(waiting) == 0, "waiting": waiting})
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// registerProcess registers the metrics of this process and of the machine that it
// needs.
func registerProcess(h *Hub) {
	r, feed, index, waiting := h.registry, h.feed, h.desired, h.heads.waiting
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "axle_build_info", Help: "Always 1; the labels name the build that runs.",
			ConstLabels: prometheus.Labels{"version": buildinfo.Version, "go": buildinfo.Go()},
		}, func() float64 { return 1 }),
		gauge("axle_feed_sequence", "Position in the change feed of this replica's indexes.", func() float64 { return float64(feed.Position().Sequence) }),
		gauge("axle_feed_lag_seconds", "How long ago this replica's indexes held every change; above 2 s, agents that have seen newer changes are asked to retry.", func() float64 { return feed.Age().Seconds() }),
		gauge("axle_hub_heads_waiting_seconds", "How long moved heads or changed limits have waited for the replica that makes revisions of them; 0 on the others.", func() float64 { return waiting().Seconds() }),
		gauge("axle_hub_disk_free_bytes", "Free bytes of the disk with this replica's data folder.", func() float64 { return float64(h.condition().DiskFree) }),
		gauge("axle_hub_disk_size_bytes", "Size of that disk.", func() float64 { return float64(h.condition().DiskTotal) }),
		gauge("axle_hub_certificate_expiry_timestamp_seconds", "When the certificate that the hub itself serves with expires; 0 where it serves plain HTTP.", func() float64 { return certificate.Expiry(h.tls) }),
		gauge("axle_desired_clusters", "Clusters whose lists this replica holds.", func() float64 {
			clusters, _ := index.Size()
			return float64(clusters)
		}),
		gauge("axle_desired_services", "Services whose entries this replica holds.", func() float64 {
			_, services := index.Size()
			return float64(services)
		}),
	)
}

func metricsHandler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
