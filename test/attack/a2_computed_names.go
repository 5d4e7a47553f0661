package attack

import (
	"crypto/sha256"
	"encoding/hex"
)

var computedName = Attack{
	Class: "A2", Name: "computed-name", Needs: Bed,
	Story: "Somebody who knows which chart's URL others will name registers charts of theirs under the name that the hub would give to that URL, and wants to be followed for it.",
	Play: func(p *Play) string {
		genuine, stranger := p.charts(first), p.charts(strangers)
		owner, mallory := p.project("shop"), p.project("lab")
		p.newCluster("edge", "shop", "")
		sum := sha256.Sum256([]byte(genuine.URL()))
		hash := hex.EncodeToString(sum[:8])
		for _, name := range []string{"charts-" + hash, "followed-" + hash, "/charts/" + hash, "/followed/" + hash} {
			mallory.call("Repositories/Create", `{"name": %q, "project": "<<lab>>", "type": "helm", "url": %q}`, name, stranger.URL())
		}
		created := owner.call("Services/Create", `{"ref": {"cluster": "<<edge>>", "name": "<<web>>"}, "spec": {"helm": {"url": %q, "chart": "web"}}}`, genuine.URL())
		if !created.ok() {
			return "nobody can follow the URL any more: " + created.field("message")
		}
		if p.either("the service follows a chart", func() string { return p.revision("edge", "web") }, first, strangers) == strangers {
			return "the service runs the chart of who has the name"
		}
		return ""
	},
}

var repositoryNames = Attack{
	Class: "A2", Name: "repository-names", Needs: API,
	Story: "Somebody with the right git wants a repository whose name looks like another one, or does something where it is shown.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		for _, name := range []string{"<script>alert(1)</script>", "fleet\nfleet", "../<<up>>", "fl\u202eeet-<<bidi>>", " <<fleet>>", "/charts/0011223344556677", "flеet-<<cyrillic>>"} {
			if a := mallory.call("Repositories/Create", `{"name": %s, "project": "<<lab>>", "url": "https://git.example.com/x.git"}`, quoted(name)); a.ok() {
				p.later("Repositories/Delete", `{"name": `+quoted(name)+`}`)
				return "there is a repository with the name " + quoted(p.fill(name))
			}
		}
		return ""
	},
}
