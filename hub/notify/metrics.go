package notify

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	sent, failed, dropped prometheus.Counter
	waiting, oldest       prometheus.Gauge
}

func newMetrics() metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	return metrics{
		sent:    counter("axle_notifications_sent_total", "Notifications that this replica delivered."),
		failed:  counter("axle_notifications_failed_total", "Notifications that this replica gave up."),
		dropped: counter("axle_notifications_dropped_total", "Notifications that this replica dropped because too many waited for their sink."),
		waiting: gauge("axle_notifications_waiting", "Notifications that wait, as the replica sees it that sends them."),
		oldest:  gauge("axle_notifications_oldest_seconds", "Age of the oldest notification that waits, 0 for none, as the replica sees it that sends them."),
	}
}

func (m metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.sent, m.failed, m.dropped, m.waiting, m.oldest}
}

func (m metrics) waits(waiting, oldest, now int64) {
	m.waiting.Set(float64(waiting))
	age := 0.0
	if oldest > 0 {
		age = (time.Duration(now-oldest) * time.Microsecond).Seconds()
	}
	m.oldest.Set(age)
}
