package attack

import "strings"

var deletedAndTaken = Attack{
	Class: "A3", Name: "repository-deleted-and-taken", Needs: Bed,
	Story: "A repository that a global service names is deleted; somebody with the right git on another project takes its name, and waits for the next cluster.",
	Play: func(p *Play) string {
		genuine, stranger := p.charts(first), p.charts(strangers)
		_, mallory := p.project("shop"), p.project("lab")
		p.admin().must("Repositories/Create", `{"name": "<<charts>>", "type": "helm", "url": %q}`, genuine.URL())
		p.admin().must("GlobalServices/Apply", `{"name": "<<logs>>", "settings": {"tags": {"<<tier>>": "dev"}}, "spec": {"helm": {"repository": "<<charts>>", "chart": "web"}}}`)
		if !p.admin().call("Repositories/Delete", `{"name": "<<charts>>"}`).ok() {
			return "" // it is in use
		}
		mallory.must("Repositories/Create", `{"name": "<<charts>>", "project": "<<lab>>", "type": "helm", "url": %q}`, stranger.URL())
		p.newCluster("edge", "shop", `, "tags": {"<<tier>>": "dev"}`)
		failed := func() string {
			if a := p.admin().call("GlobalServices/Get", `{"name": "<<logs>>"}`); strings.Contains(a.text, `"failures"`) {
				return "failed"
			}
			return p.revision("edge", "logs")
		}
		if p.either("the next cluster has it", failed, first, strangers, "failed") == strangers {
			return "the next cluster runs the stranger's chart"
		}
		return ""
	},
}

var usedAddress = Attack{
	Class: "A3", Name: "address-of-what-others-use", Needs: API,
	Story: "Somebody whose repository is used by name by a service of another project changes its address, or the way to it, and wants that service to run what is there.",
	Play: func(p *Play) string {
		owner, mallory := p.project("shop"), p.project("lab")
		p.admin().must("Bindings/Create", `{"subjectKind": "user", "subject": "<<shop>>@example.com", "actions": ["read"], "place": {"project": "<<lab>>"}}`)
		mallory.must("Repositories/Create", `{"name": "<<git>>", "project": "<<lab>>", "url": "https://git.example.com/x.git"}`)
		p.later("Repositories/Delete", `{"name": "<<git>>"}`)
		mallory.must("Repositories/Update", `{"name": "<<git>>", "url": "https://git.example.com/y.git"}`) // nobody uses it yet
		p.newCluster("edge", "shop", "")
		owner.must("Services/Create", `{"ref": {"cluster": "<<edge>>", "name": "<<web>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main"}}}`)
		for to, change := range map[string]string{
			"another URL": `"url": "https://evil.example.com/y.git"`, "another URL with credentials": `"url": "https://evil.example.com/y.git", "auth": "basic", "credentials": {"username": "a", "password": "hunter2"}`,
			"a proxy of the stranger": `"options": {"proxy": "http://evil.example.com:3128"}`,
		} {
			if mallory.call("Repositories/Update", `{"name": "<<git>>", %s}`, change).ok() {
				return "the service of another project is read from " + to
			}
		}
		return ""
	},
}

var handles = Attack{
	Class: "A3", Name: "handles", Needs: API,
	Story: "Somebody who may create clusters in a project gives one the name of another's cluster, or of the hub's own, as its handle: kubectl and templates go by handles.",
	Play: func(p *Play) string {
		_, mallory := p.project("shop"), p.project("lab")
		p.newCluster("prod", "shop", `, "handle": "<<p>>"`)
		for name, request := range map[string]string{
			"another cluster's name":      `{"name": "<<mine>>", "project": "<<lab>>", "handle": "<<prod>>"}`,
			"another cluster's handle":    `{"name": "<<p>>", "project": "<<lab>>", "handle": "<<other>>"}`,
			"the hub's own cluster, mgmt": `{"name": "<<mgmt>>", "project": "<<lab>>", "handle": "mgmt"}`,
		} {
			if a := mallory.call("Clusters/Create", "%s", request); a.ok() {
				p.later("Clusters/Delete", `{"name": `+quoted(a.field("cluster", "name"))+`, "detach": true}`)
				return "a stranger's cluster has " + name
			}
		}
		return ""
	},
}

var groups = Attack{
	Class: "A3", Name: "group-names", Needs: API,
	Story: "Somebody who manages groups makes one with the name of a group that clusters trust, and wants to be its member there.",
	Play: func(p *Play) string {
		for _, name := range []string{"system:masters", "kubeadm:cluster-admins", "eks:kube-controller-manager", "axle:admins"} {
			if p.admin().call("Groups/Create", `{"name": %q}`, name).ok() {
				p.later("Groups/Delete", `{"name": "`+name+`"}`)
				return "members of the group " + name + " go to clusters as such"
			}
		}
		return ""
	},
}

var hubMadeNames = Attack{
	Class: "A3", Name: "names-of-the-hub", Needs: API,
	Story: "Somebody with a project makes a service with the name of one that the hub makes itself, and wants to be it, or that it cannot be made.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		mallory.must("Repositories/Create", `{"name": "<<git>>", "project": "<<lab>>", "url": "https://git.example.com/x.git"}`)
		p.later("Repositories/Delete", `{"name": "<<git>>"}`)
		p.newCluster("mine", "lab", "")
		if mallory.call("Services/Create", `{"ref": {"cluster": "<<mine>>", "name": "axle-agent"}, "spec": {"repository": "<<git>>", "git": {"ref": "main"}}}`).ok() {
			return "a stranger's service is called axle-agent, and the hub's own cannot be made"
		}
		return ""
	},
}

var applications = Attack{
	Class: "A3", Name: "client-of-another", Needs: API,
	Story: "Somebody with a project declares an application with the client id of another one, or with an address below a domain of others, and wants people's logins to it.",
	Play: func(p *Play) string {
		p.project("shop")
		mallory := p.project("lab")
		p.admin().must("Projects/Update", `{"name": "<<shop>>", "limits": {"clusterScoped": true, "domains": ["shop.example.com"]}}`)
		p.admin().must("Applications/Apply", `{"name": "<<wiki>>", "settings": {"project": "<<shop>>", "clientId": "<<client>>", "redirectUris": ["https://wiki.shop.example.com/cb"]}}`)
		p.later("Applications/Delete", `{"name": "<<wiki>>"}`)
		mallory.must("Applications/Apply", `{"name": "<<own>>", "settings": {"project": "<<lab>>", "redirectUris": ["http://127.0.0.1/cb"]}}`)
		p.later("Applications/Delete", `{"name": "<<own>>"}`)
		for got, settings := range map[string]string{
			"the client id of another application": `"clientId": "<<client>>"`, "logins at a domain of others": `"redirectUris": ["https://wiki.shop.example.com/cb"]`,
			"logins at any address": `"redirectUris": ["https://evil.example.com/cb"]`, "logins by a look-alike": `"redirectUris": ["https://shop.example.com@evil.example.com/"]`,
		} {
			if mallory.call("Applications/Apply", `{"name": "<<own>>", "settings": {"project": "<<lab>>", %s}}`, p.fill(settings)).ok() {
				return got
			}
		}
		return ""
	},
}
