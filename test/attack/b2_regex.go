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
			a, took := answer{}, 2*dearFor
			for n := range 3 { // a machine that stood still is no dear expression
				other := strings.ReplaceAll(request, "x{", string(rune('x'+n))+"{")
				began := time.Now()
				a = reader.call(procedure, "%s", other)
				if took = min(took, time.Since(began)); took <= dearFor {
					break
				}
			}
			if took > dearFor {
				return procedure + " of one reader takes the hub " + took.String()
			}
			if !strings.Contains(a.text, "instructions") {
				p.fail("%s is not refused for its expression: %d: %.300s", procedure, a.status, a.text)
			}
		}
		return ""
	},
}

var dearSchema = Attack{
	Class: "B2", Name: "dear-schema", Needs: Bed,
	Story: "Somebody who may push to the repository of a cluster template gives its schema of 10 KB an expression that takes the hub seconds and hundreds of MiB.",
	Play: func(p *Play) string {
		git := p.Bed.world.Git
		files := map[string]string{
			"eks/template.yaml":    "name: eks\n",
			"eks/class/class.yaml": "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nmetadata: {name: eks}\n",
			"eks/schema.json":      `{"type": "object", "properties": {"a": {"type": "string", "pattern": "` + strings.Repeat("x{1000}", 1400) + `"}}}`,
		}
		if err := git.Create(p.ctx, p.my("git")); err != nil {
			p.fail("%w", err)
		}
		if _, err := git.Commit(p.ctx, p.my("git"), "main", "a template", files); err != nil {
			p.fail("%w", err)
		}
		p.project("lab")
		p.newCluster("hosts", "lab", "")
		p.admin().must("Repositories/Create", `{"name": "<<git>>", "url": %q}`, git.URL(p.my("git")))
		// No time is measured: the hub reads a repository only now and then.
		a := p.admin().call("ClusterTemplates/Apply", `{"name": "<<eks>>", "settings": {"repository": "<<git>>", "ref": "main", "folder": "eks", "managementClusters": ["<<hosts>>"], "kinds": ["Cluster.cluster.x-k8s.io", "ClusterClass.cluster.x-k8s.io"]}}`)
		if a.ok() || strings.Contains(a.text, "folder eks") && !strings.Contains(a.text, "instructions") {
			return fmt.Sprintf("the expression is compiled, and the answer is %.300s", a.text)
		}
		if !strings.Contains(a.text, "instructions") {
			p.fail("the template is not read: %d: %.300s", a.status, a.text)
		}
		return ""
	},
}

// dearFor is longer than a refusal takes on a machine that is busy.
const dearFor = 5 * time.Second
