package hub

import (
	"crypto/tls"
	"net/http"

	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/hub/operations"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/clock"
)

// newNotifier creates what sends notifications. It follows the same address rules as
// sources: no name leads into the hub's own network unless that is allowed, and a proxy of
// the environment is used.
func newNotifier(h *Hub) (*notify.Notifier, error) {
	transport := h.config.outward(&tls.Config{MinVersion: tls.VersionTLS12})
	transport.MaxIdleConnsPerHost = 1
	sender := &send.Sender{Clock: h.config.Clock, Version: buildinfo.Version, Client: &http.Client{Transport: transport}}
	if sender.Clock == nil {
		sender.Clock = clock.Real{}
	}
	return notify.New(notify.Config{
		Writer: h.store, Sinks: h.store, Routers: h.store, Events: h.store, Queue: h.store, Outgoing: h.store, Inbox: h.store, Sealer: h.store.Sealer(), Sender: sender,
		Project: h.fleet.ProjectScope, AllowHTTP: h.config.AllowHTTPUpstreams, URL: h.URL(), Clock: h.config.Clock, Log: h.log, Registerer: h.registry, Pools: h.pools,
	})
}

// newOperations creates the operations on many services.
func newOperations(h *Hub) *operations.Operations {
	return operations.New(operations.Config{
		Store:  operations.Store{Operations: h.store, Targets: h.store, Work: h.store},
		Writer: h.store, Services: h.fleet, Reader: store.Fleet(h.store), Identity: h.callers.Identity, Refresh: h.cache.Refresh, Clock: h.config.Clock, Log: h.log,
	})
}
