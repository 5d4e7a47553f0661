package attack

var accounts = Attack{
	Class: "C2", Name: "account-of-another", Needs: API,
	Story: "Somebody with a project writes a service that chooses another team's namespace, and so a ServiceAccount of it that may do more.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		mallory.must("Repositories/Create", `{"name": "<<git>>", "project": "<<lab>>", "url": "https://git.example.com/x.git"}`)
		p.later("Repositories/Delete", `{"name": "<<git>>"}`)
		p.newCluster("edge", "lab", "")
		for name, account := range map[string]string{
			"in-its-namespace": `"namespace": "payments", "serviceAccount": "deployer"`,
			"by-name":          `"serviceAccount": "payments/deployer"`,
		} {
			if mallory.call("Services/Create", `{"ref": {"cluster": "<<edge>>", "name": "<<%s>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main"}, %s}}`, name, account).ok() {
				return "a stranger's service acts as payments/deployer"
			}
		}
		return ""
	},
}

var hubCluster = Attack{
	Class: "C2", Name: "cluster-of-the-hub", Needs: API,
	Story: "Somebody who may write everything but the hub itself writes to the cluster that the hub runs in, and reads its key with the account of a service there.",
	Play: func(p *Play) string {
		p.admin().must("Projects/Create", `{"name": "<<own>>", "administratorsOnly": true}`)
		p.later("Projects/Delete", `{"name": "<<own>>"}`)
		p.admin().must("Repositories/Create", `{"name": "<<git>>", "url": "https://git.example.com/x.git"}`)
		p.later("Repositories/Delete", `{"name": "<<git>>"}`)
		p.newCluster("mgmt", "own", "")
		writer := p.person("writer", `{}`, "read", "write", "create", "git")
		bound := p.admin().call("Bindings/Create", `{"subjectKind": "user", "subject": "<<writer>>@example.com", "actions": ["write"], "place": {"cluster": "<<mgmt>>"}}`)
		if writer.call("Services/Create", `{"ref": {"cluster": "<<mgmt>>", "name": "<<thief>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main"}}}`).ok() {
			return "a service in the cluster of the hub, which may read the hub's Secret"
		}
		if bound.ok() && writer.call("Clusters/Get", `{"name": "<<mgmt>>"}`).ok() {
			return "rights on the cluster of the hub"
		}
		return ""
	},
}
