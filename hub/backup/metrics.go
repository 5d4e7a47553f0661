package backup

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/internal/clock"
)

var (
	lastSuccess = prometheus.NewDesc("axle_hub_backup_last_success_timestamp_seconds", "When the last complete backup of the schedule began, 0 for never; only on the replica that makes them, and only with a schedule.", nil, nil)
	dueAt       = prometheus.NewDesc("axle_hub_backup_due_timestamp_seconds", "When the next backup of the schedule is made, or should have been; only where the last success is shown.", nil, nil)
	lastBytes   = prometheus.NewDesc("axle_hub_backup_last_size_bytes", "Size of the last complete backup of the schedule; only where the last success is shown.", nil, nil)
	failures    = prometheus.NewDesc("axle_hub_backup_failures_total", "Attempts of this replica to make a backup of the schedule that failed.", nil, nil)
)

// Describe implements prometheus.Collector.
func (k *Keeper) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lastSuccess, dueAt, lastBytes, failures} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (k *Keeper) Collect(out chan<- prometheus.Metric) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out <- prometheus.MustNewConstMetric(failures, prometheus.CounterValue, k.failures)
	if !k.leads {
		return
	}
	seconds := func(micros int64) float64 { return float64(micros) / 1e6 }
	out <- prometheus.MustNewConstMetric(lastSuccess, prometheus.GaugeValue, seconds(k.state.At))
	out <- prometheus.MustNewConstMetric(dueAt, prometheus.GaugeValue, seconds(clock.Micros(k.due(k.state))))
	out <- prometheus.MustNewConstMetric(lastBytes, prometheus.GaugeValue, float64(k.state.Bytes))
}
