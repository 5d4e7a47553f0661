package attack

import (
	"encoding/base64"
	"fmt"
	"strings"
)

var errorsOfGeneratedSecrets = Attack{
	Class: "C3", Name: "errors-of-generated-secrets", Needs: Operator,
	Story: "Somebody who may write GeneratedSecrets of a namespace and read their status, but no Secrets, has templates fail with the values of a Secret.",
	Play: func(p *Play) string {
		const secret = "canary-73519462-of-somebody"
		p.project("lab")
		p.tenant("team", "lab")
		p.apply(`{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: <<team>>}, stringData: {password: ` + secret + `}}`)
		for n, expression := range failing {
			p.apply(fmt.Sprintf(`{apiVersion: deployments.plural.sh/v1alpha1, kind: GeneratedSecret, metadata: {name: fails-%d, namespace: <<team>>},
spec: {configurationRef: {name: db}, destinations: [{name: fails-%d}], template: {a: "{{ configuration.password | %s }}"}}}`, n, n, expression))
		}
		for n := range failing {
			_, message := p.synchronized("generatedsecrets", "<<team>>", fmt.Sprintf("fails-%d", n))
			text := message + p.object("generatedsecrets", "<<team>>", fmt.Sprintf("fails-%d", n)) + p.events("<<team>>")
			for _, spelling := range spellings(secret) {
				if at := strings.Index(text, spelling); at >= 0 {
					return "the secret by " + failing[n] + ": " + quoted(text[max(0, at-60):at+len(spelling)])
				}
			}
		}
		return ""
	},
}

// spellings are parts of a value as filters spell it.
func spellings(value string) []string {
	var reversed strings.Builder
	for n := len(value) - 1; n >= 0; n-- {
		reversed.WriteByte(value[n])
	}
	return []string{value[:10], strings.ToUpper(value)[:10], reversed.String()[:10], base64.StdEncoding.EncodeToString([]byte(value))[:12]}
}

// events are all events of a namespace.
func (p *Play) events(namespace string) string {
	return p.object("events.events.k8s.io", namespace)
}

var ownSecrets = Attack{
	Class: "C3", Name: "secrets-of-the-control-plane", Needs: Operator,
	Story: "Somebody who may write objects in the namespace of the control plane, but read no Secrets there, has objects copy the credentials of its backup, or send them along.",
	Play: func(p *Play) string {
		const value = "canary-backup-73519462"
		p.apply(`{apiVersion: v1, kind: Secret, metadata: {name: ` + ownSecret + `, namespace: ` + adminSpace + `}, stringData: {password: ` + value + `, token: ` + value + `}}`)
		p.apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: axle-operator-secrets, namespace: ` + adminSpace + `},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: axle-operator-secrets}, subjects: [{kind: ServiceAccount, name: axle-operator, namespace: ` + adminSpace + `}]}`)
		p.project("shop")
		p.newCluster("edge", "shop", "")
		p.apply(`{apiVersion: deployments.plural.sh/v1alpha1, kind: GitRepository, metadata: {name: <<git>>}, spec: {url: "https://git.example.com/<<x>>.git"}}`)
		p.synchronized("gitrepositories.deployments.plural.sh", "", "<<git>>")
		for _, object := range []struct{ kind, resource, spec string }{
			{"GeneratedSecret", "generatedsecrets", `configurationRef: {name: ` + ownSecret + `}, template: {a: "{{ configuration.password }}"}, destinations: [{name: <<copy>>}]`},
			{"ServiceContext", "servicecontexts", `configuration: {a: b}, secretRef: {name: ` + ownSecret + `}`},
			{"ServiceDeployment", "servicedeployments", `cluster: <<edge>>, namespace: default, detach: true, repositoryRef: {name: <<git>>}, git: {ref: main, folder: a}, configurationRef: {name: ` + ownSecret + `}`},
		} {
			name := "steals-" + strings.ToLower(object.kind)
			p.apply(fmt.Sprintf(`{apiVersion: deployments.plural.sh/v1alpha1, kind: %s, metadata: {name: %s, namespace: %s}, spec: {%s}}`, object.kind, name, adminSpace, object.spec))
			status, message := p.synchronized(object.resource+".deployments.plural.sh", adminSpace, name)
			if status == "True" {
				return "the credentials of the backup, by a " + object.kind
			}
			if !strings.Contains(message, "Secret of its own") {
				p.fail("the %s is not refused for the Secret: %s", object.kind, message)
			}
		}
		return ""
	},
}
