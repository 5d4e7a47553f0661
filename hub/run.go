package hub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/certificate"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tracing"
)

// Run runs the hub until the context ends or a part fails. Then it stops: it
// accepts no new requests, requests in flight finish, leases are released, and
// the database is closed.
func (h *Hub) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, h.Close()) }()
	flush, err := tracing.Setup(ctx, tracing.Config{
		Endpoint: h.config.TraceEndpoint, Ratio: h.config.TraceRatio, Service: "axle-hub", Instance: h.replica, Version: buildinfo.Version,
	})
	if err != nil {
		return err
	}
	defer flush()
	fresh, err := h.setup.Prepare(ctx)
	if err != nil {
		return err
	}
	h.greet(fresh)
	parts := []lifecycle.Part{
		{Name: "store", Run: h.store.Run},
		{Name: "feed", Run: h.feed.Run},
		{Name: "identity", Run: h.callers.Identity.Run},
		{Name: "signing keys", Run: h.callers.Signer.Run},
		{Name: "audit", Run: h.audit.Run},
		{Name: "audit export", Run: h.exportHere},
		{Name: "gitcache", Run: h.cache.Run},
		{Name: "replicas", Run: h.replicas.Run},
		{Name: "heads", Run: h.followHeads},
		{Name: "setup", Run: h.setup.Run},
		{Name: "login providers", Run: h.declared.Run},
		{Name: "tunnels", Run: h.tunnels.Run},
		{Name: "clusters' APIs", Run: h.proxy.Run},
		{Name: "watchers", Run: h.streams.Run},
		{Name: "server", Run: h.server().Run},
	}
	if h.config.CAConfigMap != "" {
		parts = append(parts, lifecycle.Part{Name: "published authority", Run: func(ctx context.Context) error { return publishCA(ctx, h) }})
	}
	if h.metricsListener != nil {
		parts = append(parts, lifecycle.Part{Name: "metrics", Run: h.metricsServer().Run})
	}
	h.log.Info("hub runs", logkey.Address, h.Addr(), logkey.Replica, h.replica, logkey.Version, buildinfo.Version, "database", h.store.Database())
	running, stop := lifecycle.Lasting(ctx, h.config.Clock, h.config.ShutdownDelay, func() { h.readiness.stopping.Store(true) })
	defer stop()
	if err := lifecycle.Run(running, parts...); err != nil {
		return err
	}
	h.log.Info("hub stopped")
	return nil
}

// publishCA keeps trying until the authority is published; until then the operator's
// pod waits for it, and nothing else does.
func publishCA(ctx context.Context, h *Hub) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		err := certificate.Publish(ctx, h.config.CAConfigMap, h.CAFile())
		if err == nil || ctx.Err() != nil {
			return nil
		}
		h.log.Warn("the certificate authority could not be published", "configmap", h.config.CAConfigMap, logkey.Error, err)
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return nil
		}
	}
}

// followHeads is the work of one replica at a time: heads, values from
// elsewhere, the agents' upgrades, the rollouts of global services, secrets of applications and backups. A new holder checks everything once.
func (h *Hub) followHeads(ctx context.Context) error {
	return h.replicas.lead(ctx, func(ctx context.Context) error {
		return lifecycle.Run(ctx,
			lifecycle.Part{Name: "heads", Run: h.heads.Run},
			lifecycle.Part{Name: "values", Run: func(ctx context.Context) error { return h.values.Lead(ctx, configured{h.fleet, h.globals}) }},
			lifecycle.Part{Name: "agents", Run: h.upgradeAgents},
			lifecycle.Part{Name: "rollouts", Run: h.rollouts.Run},
			lifecycle.Part{Name: "audit export", Run: h.exportForAll},
			lifecycle.Part{Name: "notifications", Run: h.notifier.Run},
			lifecycle.Part{Name: "operations", Run: h.operations.Run},
			lifecycle.Part{Name: "clusters of templates", Run: h.clusters.Run},
			lifecycle.Part{Name: "applications", Run: h.applications.Run},
			lifecycle.Part{Name: "sign-ins", Run: h.signin.Run},
			lifecycle.Part{Name: "backups", Run: h.backups.Run},
		)
	})
}

// greet prints the hub's URL and the next steps.
func (h *Hub) greet(fresh bool) {
	line := "axle-hub is at " + h.URL()
	if h.config.InsecureHTTP {
		line += " (plain HTTP, also for others: tokens travel in the open)"
	}
	login := "axle login " + h.URL()
	if ca := h.CAFile(); ca != "" {
		login += " --ca " + ca
	}
	if fresh {
		line += "; set it up in a browser, once, within 24 h: " + h.setupURL() + "; or with the setup token in " + h.setup.Path + ": " + login + " --setup-token-file " + h.setup.Path + " --email you@example.com"
	} else {
		line += "; next: " + login
	}
	// A closed output is not an error.
	_, _ = fmt.Fprintln(h.config.Out, line)
	if inc := h.feedIncarnation(); inc != "" {
		_, _ = fmt.Fprintln(h.config.Out, inc)
	}
}

// feedIncarnation warns of a restored database, because agents hold deletes.
func (h *Hub) feedIncarnation() string {
	ctx, cancel := context.WithTimeout(context.Background(), readHeaderTimeout)
	defer cancel()
	i, err := h.store.Incarnation(ctx)
	if err != nil || i.Confirmed {
		return ""
	}
	return "the database was restored from a backup: agents delete nothing until you run: axle hub confirm-restore"
}

func (h *Hub) server() *server {
	return &server{name: "agents and people", listener: h.listener, tls: h.tls, handler: h.handler, heads: newRequestHeads(h.pools), log: h.log}
}

func (h *Hub) metricsServer() *server {
	return &server{name: "metrics", listener: h.metricsListener, handler: metricsRoutes(h.registry, h.metricsListener.Addr()), heads: newRequestHeads(nil), log: h.log}
}
