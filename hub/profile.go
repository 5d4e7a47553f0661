package hub

import (
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
)

// metricsRoutes returns the routes of the metrics listener. Profiles reveal much
// about a process and cost it some work, so only a loopback address serves them.
func metricsRoutes(r *prometheus.Registry, addr net.Addr) http.Handler {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		return metricsHandler(r)
	}
	mux := http.NewServeMux()
	mux.Handle("/", metricsHandler(r))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
