package hubtest

import (
	"fmt"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric is what a hub exports of its own.
type Metric struct {
	Name, Help string
	// Labels are those that vary, with commas between them.
	Labels string
}

// description is how the library writes a metric.
var description = regexp.MustCompile(`fqName: "([^"]+)", help: "([^"]*)", .*variableLabels: \{([^}]*)\}`)

// Exported returns what the hub exports.
func (h *Hub) Exported() (all []Metric, err error) {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		h.Metrics().Describe(descriptions)
		close(descriptions)
	}()
	for d := range descriptions {
		if m := description.FindStringSubmatch(d.String()); m != nil {
			all = append(all, Metric{m[1], m[2], m[3]})
		} else {
			err = fmt.Errorf("a metric that cannot be read: %s", d)
		}
	}
	return all, err
}
