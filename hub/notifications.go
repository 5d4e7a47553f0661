package hub

import (
	"crypto/tls"
	"net/http"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/hub/operations"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/clock"
)

// newNotifier creates what sends notifications. It follows the same address rules as
// sources: no name leads into the hub's own network unless that is allowed. No proxy of
// the environment is used, because it would connect to any address.
func newNotifier(h *Hub) (*notify.Notifier, error) {
	dialer := &upstream.Dialer{Allow: h.config.AllowUpstreamCIDRs}
	sender := &send.Sender{Clock: h.config.Clock, Version: buildinfo.Version, Client: &http.Client{Transport: &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 1, MaxResponseHeaderBytes: 64 << 10,
	}}}
	if sender.Clock == nil {
		sender.Clock = clock.Real{}
	}
	return notify.New(notify.Config{
		Writer: h.store, Sinks: h.store, Routers: h.store, Events: h.store, Queue: h.store, Outgoing: h.store, Inbox: h.store, Sealer: h.store.Sealer(), Sender: sender,
		Project: h.fleet.ProjectScope, AllowHTTP: h.config.AllowHTTPUpstreams, URL: h.URL(), Clock: h.config.Clock, Log: h.log, Registerer: h.registry,
	})
}

// newOperations creates the operations on many services.
func newOperations(h *Hub) *operations.Operations {
	return operations.New(operations.Config{
		Store:  operations.Store{Operations: h.store, Targets: h.store, Work: h.store},
		Writer: h.store, Services: h.fleet, Reader: store.Fleet(h.store), Identity: h.callers.Identity, Refresh: h.cache.Refresh, Clock: h.config.Clock, Log: h.log,
	})
}
