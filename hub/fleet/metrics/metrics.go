// Package metrics exports the fleet's Prometheus metrics: totals over all
// clusters, for alerts. Names of clusters and services are in no label, so a
// large fleet has as many series as a small one.
//
// At each scrape it reads only memory and runs no SQL. hub/fleet and
// hub/desired keep the numbers current as they follow the feed, so every
// replica exports the whole fleet, and alerts take the maximum over the
// replicas. hub registers it.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/fleet/liveness"
	"github.com/axle-cd/axle/hub/fleet/reported"
)

// Fleet is implemented by hub/fleet.
type Fleet interface {
	ServiceCounts() map[reported.State]int
	ClusterCounts() map[liveness.Freshness]int
}

// Size returns the number of clusters and services.
type Size interface {
	Size() (clusters, services int)
}

// Unreported is the sync of services that no agent has reported yet.
const Unreported = "Unreported"

var (
	services = prometheus.NewDesc("axle_fleet_services",
		"Services by the state that their agents reported, for the whole fleet on every replica; Unreported are those without a report.", []string{"sync", "health"}, nil)
	clusters = prometheus.NewDesc("axle_fleet_clusters",
		"Registered clusters by freshness, for the whole fleet on every replica: Fresh, Stale after three poll intervals without a poll, Unknown after the hub's start.", []string{"freshness"}, nil)
)

// Collector collects both gauges.
type Collector struct {
	fleet Fleet
	size  Size
}

// New returns a collector.
func New(fleet Fleet, size Size) *Collector { return &Collector{fleet, size} }

// Describe implements prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	to <- services
	to <- clusters
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	_, unreported := c.size.Size()
	for is, n := range c.fleet.ServiceCounts() {
		to <- prometheus.MustNewConstMetric(services, prometheus.GaugeValue, float64(n), is.Sync, is.Health)
		unreported -= n
	}
	// The same feed updates both, one after the other, so the difference may
	// briefly be negative.
	to <- prometheus.MustNewConstMetric(services, prometheus.GaugeValue, float64(max(0, unreported)), Unreported, "Unknown")
	counts := c.fleet.ClusterCounts()
	for _, f := range []liveness.Freshness{liveness.Fresh, liveness.Stale, liveness.Unknown} {
		to <- prometheus.MustNewConstMetric(clusters, prometheus.GaugeValue, float64(counts[f]), string(f))
	}
}
