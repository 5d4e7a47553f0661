package attack

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// token mints a token of the administrator.
func (p *Play) token(name, scope string) answer {
	made := p.admin().must("Tokens/Create", `{"name": "<<%s>>", "scopes": [%q], "lifetimeMicros": 600000000}`, name, scope)
	p.later("Tokens/Revoke", `{"id": `+quoted(made.field("token", "id"))+`}`)
	return made
}

var readTokenListsSecrets = Attack{
	Class: "C1", Name: "read-token-lists-secrets", Needs: Cluster,
	Story: "Somebody found an administrator's token that may only read, and wants the Secrets of all clusters.",
	Play: func(p *Play) string {
		reader := caller{p, "the finder", p.token("reader", "read").field("secret")}
		if a := reader.send(p.ctx, http.MethodGet, api("/api/v1/secrets"), "", nil); a.ok() {
			return "the Secrets of the cluster"
		}
		return ""
	},
}

var readTokenRevokes = Attack{
	Class: "C1", Name: "read-token-revokes", Needs: API,
	Story: "Somebody found an administrator's token that may only read, and wants to end the owner's other tokens.",
	Play: func(p *Play) string {
		reader := caller{p, "the finder", p.token("reader", "read").field("secret")}
		other := p.token("other", "admin")
		reader.call("Tokens/Revoke", `{"id": %q}`, other.field("token", "id"))
		if a := (caller{p, "the owner", other.field("secret")}).call("Sessions/WhoAmI", `{}`); !a.ok() {
			return "the owner's token with the scope admin is revoked"
		}
		return ""
	},
}

var unknownUpgrade = Attack{
	Class: "C1", Name: "upgrade-by-a-reader", Needs: Cluster,
	Story: "Somebody with a token that may only read asks to connect to a subresource that the hub does not know, such as the console of a virtual machine.",
	Play: func(p *Play) string {
		reader := p.person("reader", `{"cluster": "`+edge+`"}`, "read", "write")
		reader.token = reader.must("Tokens/Create", `{"name": "reads", "scopes": ["read"]}`).field("secret")
		upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Version": {"13"}}
		for _, path := range []string{"/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/vm/console", "/apis/example.com/v1/namespaces/default/things/one/log"} {
			if a := reader.send(p.ctx, http.MethodGet, api(path), "", upgrade); p.Bed.front.saw(path) {
				return "the connection reaches the API server, which answers " + http.StatusText(a.status)
			}
		}
		return ""
	},
}

// grace is how long an open stream may go on. The promise is 5 s; one that is captured goes on
// for an hour.
var grace = eventually.Loaded(5 * time.Second)

var openWatch = Attack{
	Class: "C1", Name: "open-watch", Needs: Cluster,
	Story: "Somebody opens a watch of Secrets as an administrator, is none any more, and goes on reading.",
	Play: func(p *Play) string {
		former := p.person("former", `{"cluster": "`+edge+`"}`, "read")
		p.admin().must("Users/SetAdmin", `{"name": "<<former>>@example.com", "admin": true}`)
		ctx, cancel := context.WithCancel(p.ctx)
		defer cancel()
		lines := former.watch(ctx, "/api/v1/namespaces/default/secrets?watch=1")
		p.admin().must("Users/SetAdmin", `{"name": "<<former>>@example.com", "admin": false}`)
		if ended(lines, time.After(grace)) {
			return ""
		}
		p.apply(`{apiVersion: v1, kind: Secret, metadata: {name: made-later, namespace: default}}`)
		for line := range lines {
			if strings.Contains(line, "made-later") {
				return "a Secret that was made " + grace.String() + " after the right ended"
			}
		}
		return ""
	},
}

// watch opens a watch and returns its lines, until it ends.
func (c caller) watch(ctx context.Context, path string) <-chan string {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.p.URL+api(path), nil)
	if err != nil {
		c.p.fail("%w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := c.p.Client.Do(r)
	if err != nil {
		c.p.fail("open a watch: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		c.p.fail("open a watch: %s", answer.Status)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		defer answer.Body.Close()
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return lines
}

// ended reports whether a stream ends in time.
func ended(lines <-chan string, deadline <-chan time.Time) bool {
	for {
		select {
		case _, open := <-lines:
			if !open {
				return true
			}
		case <-deadline:
			return false
		}
	}
}

var madeCluster = Attack{
	Class: "C1", Name: "kubeconfig-of-a-made-cluster", Needs: Cluster,
	Story: "Somebody who may do everything in a cluster that makes clusters wants the kubeconfig that Cluster API keeps of one, whose administrator it names.",
	Play: func(p *Play) string {
		const value = "canary-kubeconfig-73519462"
		p.apply(`{apiVersion: v1, kind: Secret, type: cluster.x-k8s.io/secret, metadata: {name: prod-kubeconfig, namespace: default, labels: {cluster.x-k8s.io/cluster-name: prod}}, stringData: {value: ` + value + `}}`)
		const secrets = "/api/v1/namespaces/default/secrets"
		encoded := base64.StdEncoding.EncodeToString([]byte(value))
		for _, path := range []string{secrets + "/prod-kubeconfig", secrets, "/api/v1/secrets", secrets + "?watch=1&timeoutSeconds=2", secrets + "?fieldSelector=metadata.name%3Dprod-kubeconfig", "/api/v1/watch/namespaces/default/secrets?timeoutSeconds=2"} {
			for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"} {
				a := p.admin().send(p.ctx, http.MethodGet, api(path), "", http.Header{"Accept": {accept}})
				if strings.Contains(a.text, encoded) || strings.Contains(a.text, value) {
					return "the kubeconfig, by GET " + path + " as " + accept
				}
			}
		}
		if a := p.admin().call("Clusters/AdminKubeconfig", `{"cluster": %q}`, edge); strings.Contains(a.text, value) {
			return "the kubeconfig, by a call for another cluster"
		}
		return ""
	},
}

var lookedUpKubeconfig = Attack{
	Class: "C1", Name: "kubeconfig-by-a-lookup", Needs: Cluster,
	Story: "Somebody who may write services of a cluster that makes clusters has a chart look up the kubeconfig that Cluster API keeps of one, and a service copy it.",
	Play: func(p *Play) string {
		const value = "canary-kubeconfig-91827364"
		p.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: <<clusters>>}}`)
		p.apply(`{apiVersion: v1, kind: Secret, type: cluster.x-k8s.io/secret, metadata: {name: prod-kubeconfig, namespace: <<clusters>>, labels: {cluster.x-k8s.io/cluster-name: prod}}, stringData: {value: ` + value + `}}`)
		files := map[string]string{"app/Chart.yaml": "apiVersion: v2\nname: look\nversion: 1.0.0\n"}
		for n, lookup := range []string{`(lookup "v1" "Secret" "<<clusters>>" "prod-kubeconfig")`, `(lookup "v1" "Secret" "<<clusters>>" "")`, `(lookup "v1" "Secret" "" "")`} {
			files[fmt.Sprintf("app/templates/%d.yaml", n)] = p.fill(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: <<seen-%d>>, namespace: default}\ndata: {seen: {{ %s | toJson | quote }}}\n", n, lookup))
		}
		service := p.delivered("app", files, "")
		p.either("the chart is delivered", func() string { return p.admin().call("Services/Get", "%s", service).field("sync") }, "Synced", "Failed")
		encoded := base64.StdEncoding.EncodeToString([]byte(value))
		if seen := p.object("configmaps", "default"); strings.Contains(seen, encoded) || strings.Contains(seen, value) {
			return "the kubeconfig, in a ConfigMap of the chart"
		}
		for _, a := range []answer{p.admin().call("Services/Get", "%s", service), p.admin().call("Services/GetTree", "%s", service), p.admin().call("Services/Diff", "%s", service)} {
			if strings.Contains(a.text, encoded) || strings.Contains(a.text, value) {
				return "the kubeconfig, in a text about the service"
			}
		}
		return ""
	},
}
