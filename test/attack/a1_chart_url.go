package attack

import (
	"strings"

	"github.com/axle-cd/axle/test/chartserver"
)

// The charts of an upstream have version 1.0.0 and later 1.1.0, those of the attacker 9.9.9.
const (
	first, second = "1.0.0", "1.1.0"
	strangers     = "9.9.9"
)

var chartURL = Attack{
	Class: "A1", Name: "chart-url", Needs: Bed,
	Story: "Somebody with the right git on another project registers the URL of a chart that a service runs, and wants the service to run charts of theirs.",
	Play: func(p *Play) string {
		genuine, stranger := p.charts(first), p.charts(strangers)
		owner, mallory := p.project("shop"), p.project("lab")
		p.newCluster("edge", "shop", "")
		apply := func(release string) {
			owner.must("Services/Apply", `{"ref": {"cluster": "<<edge>>", "name": "<<web>>"}, "spec": {"helm": {"url": %q, "chart": "web", "version": ">=1", "release": %q}}}`, genuine.URL(), release)
		}
		apply("web")
		p.either("the service follows the chart", func() string { return p.revision("edge", "web") }, first)
		mallory.call("Repositories/Create", `{"name": "a-<<charts>>", "project": "<<lab>>", "type": "helm", "url": %q}`, genuine.URL())
		apply("changed")
		return p.moved(mallory, genuine, stranger, owner, "edge", "web")
	},
}

var chartURLOfAGlobalService = Attack{
	Class: "A1", Name: "chart-url-of-the-fleet", Needs: Bed,
	Story: "The same with a chart of a global service: at the next cluster that it reaches, the whole fleet fetches charts of the stranger.",
	Play: func(p *Play) string {
		genuine, stranger := p.charts(first), p.charts(strangers)
		_, mallory := p.project("shop"), p.project("lab")
		p.admin().must("GlobalServices/Apply", `{"name": "<<logs>>", "settings": {"tags": {"<<tier>>": "dev"}}, "spec": {"helm": {"url": %q, "chart": "web", "version": ">=1"}}}`, genuine.URL())
		p.newCluster("edge", "shop", `, "tags": {"<<tier>>": "dev"}`)
		p.either("the first cluster has it", func() string { return p.revision("edge", "logs") }, first)
		mallory.call("Repositories/Create", `{"name": "a-<<charts>>", "project": "<<lab>>", "type": "helm", "url": %q}`, genuine.URL())
		p.newCluster("next", "shop", `, "tags": {"<<tier>>": "dev"}`)
		p.either("the next cluster has it", func() string { return p.revision("next", "logs") }, first)
		return p.moved(mallory, genuine, stranger, p.admin(), "next", "logs")
	},
}

var urlOfAnother = Attack{
	Class: "A1", Name: "url-of-another", Needs: API,
	Story: "Somebody knows the URL of a repository that another project registered with credentials, and gives it in a service of theirs, so that the hub fetches it for them.",
	Play: func(p *Play) string {
		owner, mallory := p.project("shop"), p.project("lab")
		owner.must("Repositories/Create", `{"name": "<<git>>", "project": "<<shop>>", "url": "https://git.example.com/<<x>>.git", "auth": "basic", "credentials": {"username": "a", "password": "hunter2"}}`)
		p.later("Repositories/Delete", `{"name": "<<git>>"}`)
		owner.must("Repositories/Create", `{"name": "<<charts>>", "project": "<<shop>>", "type": "helm", "url": "https://charts.example.com/<<x>>", "auth": "basic", "credentials": {"username": "a", "password": "hunter2"}}`)
		p.later("Repositories/Delete", `{"name": "<<charts>>"}`)
		p.newCluster("mine", "lab", "")
		for n, url := range []string{"https://git.example.com/<<x>>.git", "https://git.example.com:443/<<x>>", "HTTPS://GIT.example.com/<<x>>.git/", "https://a@git.example.com/<<x>>.git"} {
			if mallory.call("Services/Create", `{"ref": {"cluster": "<<mine>>", "name": "<<web-%d>>"}, "spec": {"git": {"url": "%s", "ref": "main"}}}`, n, url).ok() {
				return "the repository of another project, with its credentials, by the URL " + p.fill(url)
			}
		}
		mallory.call("Services/Create", `{"ref": {"cluster": "<<mine>>", "name": "<<chart>>"}, "spec": {"helm": {"url": "https://charts.example.com/<<x>>", "chart": "web"}}}`)
		if a := p.admin().call("Services/Get", `{"ref": {"cluster": "<<mine>>", "name": "<<chart>>"}}`); strings.Contains(a.text, p.my("charts")) {
			return "charts of another project, with its credentials"
		}
		return ""
	},
}

// moved lets mallory move what she registered to charts of hers, while the genuine ones get
// a version, and returns what was got if the service follows hers.
func (p *Play) moved(mallory caller, genuine, stranger *chartserver.Server, owner caller, cluster, service string) string {
	mallory.call("Repositories/Update", `{"name": "a-<<charts>>", "url": %q}`, stranger.URL())
	mallory.call("Repositories/Refresh", `{"name": "a-<<charts>>", "wait": true}`)
	publish(genuine, second)
	owner.call("Services/Sync", `{"ref": {"cluster": "<<%s>>", "name": "<<%s>>"}}`, cluster, service)
	if p.either("the service follows a new version", func() string { return p.revision(cluster, service) }, second, strangers) == strangers {
		return "the service runs the stranger's chart"
	}
	return ""
}
