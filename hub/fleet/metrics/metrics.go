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

// Fleet is hub/fleet's.
type Fleet interface {
	ServiceCounts() map[reported.State]int
	ClusterCounts() map[liveness.Freshness]int
}

// Size is how many clusters and services there are.
type Size interface {
	Size() (clusters, services int)
}

// Unreported is the sync of services of which no agent has told anything yet.
const Unreported = "Unreported"

var (
	services = prometheus.NewDesc("axle_fleet_services",
		"Services by how their agents said that they are, as a whole fleet on every replica; Unreported are those of which nobody told anything.", []string{"sync", "health"}, nil)
	clusters = prometheus.NewDesc("axle_fleet_clusters",
		"Registered clusters by how fresh they are, as a whole fleet on every replica: Fresh, Stale after three poll intervals without a poll, Unknown after the hub's start.", []string{"freshness"}, nil)
)

// Collector is both gauges.
type Collector struct {
	fleet Fleet
	size  Size
}

// New returns a collector.
func New(fleet Fleet, size Size) *Collector { return &Collector{fleet, size} }

// Describe is prometheus.Collector.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	to <- services
	to <- clusters
}

// Collect is prometheus.Collector.
func (c *Collector) Collect(to chan<- prometheus.Metric) {
	_, unreported := c.size.Size()
	for is, n := range c.fleet.ServiceCounts() {
		to <- prometheus.MustNewConstMetric(services, prometheus.GaugeValue, float64(n), is.Sync, is.Health)
		unreported -= n
	}
	// Both are followed by the same feed, one after the other.
	to <- prometheus.MustNewConstMetric(services, prometheus.GaugeValue, float64(max(0, unreported)), Unreported, "Unknown")
	counts := c.fleet.ClusterCounts()
	for _, f := range []liveness.Freshness{liveness.Fresh, liveness.Stale, liveness.Unknown} {
		to <- prometheus.MustNewConstMetric(clusters, prometheus.GaugeValue, float64(counts[f]), string(f))
	}
}
