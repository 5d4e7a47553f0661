package attack

import (
	"fmt"
	"strings"
	"time"
)

var dearRegex = Attack{
	Class: "B2", Name: "dear-regular-expression", Needs: Bed,
	Story: "The same with a regular expression, which counted as one step whatever it reads.",
	Play:  func(p *Play) string { return p.dear(matches) },
}

var dearQuery = Attack{
	Class: "B2", Name: "dear-query", Needs: Cluster,
	Story: "Somebody who may only read a cluster asks for metrics by queries of a few KiB, and for a dashboard of them, whose regular expressions take the hub seconds and hundreds of MiB.",
	Play: func(p *Play) string {
		p.admin().must("TelemetrySources/Apply", `{"name": "<<store>>", "settings": {"project": "default", "cluster": %q, "type": "prometheus", "url": "http://127.0.0.1:9"}}`, edge)
		reader := p.person("reader", `{"cluster": "`+edge+`"}`, "read")
		large := quoted(`up{a=~"` + strings.Repeat("x{1000}", 1400) + `"}`)
		graph := `{"name": "x", "queries": [{"query": ` + large + `}]}`
		for procedure, request := range map[string]string{
			"Metrics/Query":   fmt.Sprintf(`{"cluster": %q, "query": %s}`, edge, large),
			"Dashboards/Draw": fmt.Sprintf(`{"cluster": %q, "dashboard": {"graphs": [%s%s]}}`, edge, strings.Repeat(graph+", ", 15), graph),
		} {
			began := time.Now()
			a := reader.call(procedure, "%s", request)
			if took := time.Since(began); took > dearFor {
				return procedure + " of one reader takes the hub " + took.String()
			}
			if !strings.Contains(a.text, "instructions") {
				p.fail("%s is not refused for its expression: %d: %.300s", procedure, a.status, a.text)
			}
		}
		return ""
	},
}

// dearFor is longer than a refusal takes on a machine that is busy.
const dearFor = 5 * time.Second
