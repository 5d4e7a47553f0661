package agent

import (
	"context"
	"net"
	"net/http"
	"net/http/pprof"

	"github.com/axle-cd/axle/internal/errcode"
)

// loopback reports whether an address can be reached only from this machine or pod.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// profiles adds /debug/pprof/ if only this machine can reach it: profiles reveal much
// about a process and cost it work.
func profiles(mux *http.ServeMux, address net.Addr) {
	if tcp, ok := address.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}

// serveProfiles serves profiles on their own address, if one is configured.
func (a *Agent) serveProfiles(ctx context.Context) error {
	if a.cfg.ProfileListen == "" {
		<-ctx.Done()
		return nil
	}
	var conf net.ListenConfig
	l, err := conf.Listen(ctx, "tcp", a.cfg.ProfileListen)
	if err != nil {
		return errcode.New(errcode.Invalid, "--pprof-listen: %w", err)
	}
	mux := http.NewServeMux()
	profiles(mux, l.Addr())
	return serve(ctx, l, mux)
}
