package attack

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

var hashes = Attack{
	Class: "C3", Name: "hashes-as-an-oracle", Needs: API,
	Story: "Somebody who may read a service compares the hash that stands for its secret with those of guesses in a service of their own.",
	Play: func(p *Play) string {
		p.project("shop")
		mallory := p.project("lab")
		p.admin().must("Repositories/Create", `{"name": "<<git>>", "url": "https://git.example.com/x.git"}`)
		p.later("Repositories/Delete", `{"name": "<<git>>"}`)
		p.admin().must("Bindings/Create", `{"subjectKind": "user", "subject": "<<lab>>@example.com", "actions": ["read"], "place": {"project": "<<shop>>"}}`)
		secret := func(project, name, value string) string {
			p.newCluster(name, project, "")
			p.admin().must("Services/Create", `{"ref": {"cluster": "<<%[1]s>>", "name": "<<%[1]s>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main"}, "secrets": {"password": %[2]q}}}`, name, value)
			return hash(mallory.must("Services/Config", `{"ref": {"cluster": "<<%[1]s>>", "name": "<<%[1]s>>"}}`, name))
		}
		victim := secret("shop", "victim", "hunter2")
		for n, guess := range []string{"letmein", "hunter2"} {
			if secret("lab", fmt.Sprintf("guess-%d", n), guess) == victim {
				return mallory.name + " knows that the password is " + guess
			}
		}
		return ""
	},
}

// hash is the first one of a service's configuration.
func hash(a answer) string {
	_, rest, _ := strings.Cut(a.text, `"hash":`)
	_, rest, _ = strings.Cut(rest, `"`)
	text, _, _ := strings.Cut(rest, `"`)
	if text == "" {
		return "none: " + a.text
	}
	return text
}

var errorTexts = Attack{
	Class: "C3", Name: "errors-quote-a-secret", Needs: Cluster,
	Story: "Somebody who may read a service waits for a Secret that its API server refuses, and reads the value in what the API server says.",
	Play: func(p *Play) string {
		const value = "73519462"
		ref := p.delivered("app", map[string]string{"app/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: pin}\nstringData: {pin: " + value + "}\n"}, "")
		reader := p.person("reader", `{"cluster": "`+edge+`"}`, "read")
		p.either("the Secret is refused", func() string { return reader.call("Services/Get", "%s", ref).field("sync") }, "Failed")
		for _, read := range []answer{reader.call("Services/Get", "%s", ref), reader.call("Services/GetTree", "%s", ref), p.admin().call("Events/List", `{}`), reader.call("Services/Diff", "%s", ref)} {
			if at := strings.Index(read.text, value); at >= 0 {
				return "the value of a Secret in " + quoted(read.text[max(0, at-40):at+len(value)])
			}
		}
		return ""
	},
}

// delivered commits files to a repository of its own, makes a service of a folder of them on
// the cluster, and returns the request that names it.
func (p *Play) delivered(folder string, files map[string]string, more string) string {
	git := p.Bed.world.Git
	if err := git.Create(p.ctx, p.my("git")); err != nil {
		p.fail("%w", err)
	}
	if _, err := git.Commit(p.ctx, p.my("git"), "main", "files", files); err != nil {
		p.fail("%w", err)
	}
	p.admin().must("Repositories/Create", `{"name": "<<git>>", "url": %q}`, git.URL(p.my("git")))
	p.admin().must("Services/Create", `{"ref": {"cluster": %q, "name": "<<web>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main", "folder": %q}%s}}`, edge, folder, more)
	return p.fill(fmt.Sprintf(`{"ref": {"cluster": %q, "name": "<<web>>"}}`, edge))
}

var errorsOfTemplates = Attack{
	Class: "C3", Name: "errors-of-templates", Needs: Cluster,
	Story: "Somebody who may push to the repository of a service, and read its status, has templates fail with the service's secrets, in spellings of their own.",
	Play: func(p *Play) string {
		const secret = "canary-73519462-of-somebody"
		files := map[string]string{}
		for n, expression := range failing {
			files[fmt.Sprintf("%d/cm.yaml.liquid", n)] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ configuration.password | " + expression + " }}}\n"
		}
		const password = `, "secrets": {"password": "` + secret + `"}`
		p.delivered("0", files, password)
		for n := range failing {
			p.admin().must("Services/Create", `{"ref": {"cluster": %q, "name": "<<fails-%[2]d>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main", "folder": "%[2]d"}%[3]s}}`, edge, n, password)
		}
		reader := p.person("reader", `{"cluster": "`+edge+`"}`, "read")
		failed := 0
		for n, expression := range failing {
			service := p.fill(fmt.Sprintf(`{"ref": {"cluster": %q, "name": "<<fails-%d>>"}}`, edge, n))
			if p.either("the template is rendered, or fails", func() string { return reader.call("Services/Get", "%s", service).field("sync") }, "Failed", "Synced") == "Failed" {
				failed++
			}
			for _, read := range []answer{reader.call("Services/Get", "%s", service), reader.call("Services/Diff", "%s", service), p.admin().call("Events/List", `{}`)} {
				for _, spelling := range spellings(secret) {
					if at := strings.Index(read.text, spelling); at >= 0 {
						return "the secret by " + expression + ": " + quoted(read.text[max(0, at-60):at+len(spelling)])
					}
				}
			}
		}
		if failed < len(failing)/2 {
			p.fail("only %d of %d templates fail", failed, len(failing))
		}
		return ""
	},
}

// failing are filters that fail on a text, and might quote it.
var failing = []string{"plus: 1 | divided_by: 0", "b64enc | plus: 1 | fromJson", "upcase | fromJson", "reverse | fromYaml | keys", "toDate: 'x'", "semver", "required: 'x' | fail", "slice: 0, 10 | fromJson"}

var credentialInTexts = Attack{
	Class: "C3", Name: "credential-in-the-audit-log", Needs: API,
	Story: "Somebody who may read the audit log looks there for credentials of kubectl that people got, or wrote by mistake where names and texts go.",
	Play: func(p *Play) string {
		p.project("shop")
		p.newCluster("edge", "shop", "")
		credential := p.admin().must("ClusterAPI/CreateCredential", `{"cluster": "<<edge>>"}`).field("token")
		_, value, _ := strings.Cut(credential, "axle_k8s_")
		if value == "" {
			p.fail("a credential has no such form: %.12s", credential)
		}
		for _, mistake := range []string{
			`Projects/Update {"name": "<<shop>>", "description": "kubectl --token CREDENTIAL"}`, `Contexts/Create {"context": {"name": "CREDENTIAL", "values": "{\"a\": \"CREDENTIAL\"}"}}`,
			`Repositories/Create {"name": "CREDENTIAL", "url": "https://git.example.com/CREDENTIAL.git"}`, `Clusters/Update {"name": "<<edge>>", "handle": "CREDENTIAL"}`,
		} {
			procedure, request, _ := strings.Cut(strings.ReplaceAll(mistake, "CREDENTIAL", credential), " ")
			p.admin().call(procedure, "%s", request)
		}
		p.either("the last mistake is recorded", func() string {
			return map[bool]string{true: "yes"}[strings.Contains(p.admin().must("Audit/List", `{"action": "Clusters/Update", "limit": 1000}`).text, p.my("edge"))]
		}, "yes")
		for _, procedure := range []string{"Audit/List", "Events/List"} {
			if a := p.admin().must(procedure, `{"limit": 1000}`); strings.Contains(a.text, value) {
				return "a credential for a cluster, by " + procedure
			}
		}
		return ""
	},
}

var supportBundle = Attack{
	Class: "C3", Name: "support-bundle", Needs: Cluster,
	Story: "Somebody gets a support bundle that was sent to a vendor, and looks for passwords in the flags, probes and environment of the hub's pods.",
	Play: func(p *Play) string {
		const canary = "canary-73519462"
		p.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: axle}}`)
		p.apply(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: axle}}`)
		p.apply(strings.ReplaceAll(`{apiVersion: v1, kind: Pod, metadata: {name: axle-hub-0, namespace: axle, labels: {app.kubernetes.io/name: axle, app.kubernetes.io/part-of: axle}},
spec: {automountServiceAccountToken: false, containers: [{name: hub, image: "axle.test/hub:1", args: ["serve", "--database-url=postgres://axle:CANARY@db/axle", "--password", "CANARY"],
env: [{name: AXLE_PASSWORD, value: CANARY}], livenessProbe: {httpGet: {path: /livez, port: 80, httpHeaders: [{name: Authorization, value: "Bearer CANARY"}]}}}]}}`, "CANARY", canary))
		w := p.Bed.world
		settings := fmt.Sprintf("---\n{current: bed, contexts: {bed: {url: %q, token: %q}}}\n", p.URL, p.Token)
		if err := os.WriteFile(w.Settings(), []byte(settings), 0o600); err != nil {
			p.fail("%w", err)
		}
		file := filepath.Join(w.Dir, "bundle.tar.gz")
		if _, err := w.Axle(p.ctx, "hub", "support-bundle", "--file", file, "--kubeconfig", w.Cluster(edge).Kubeconfig()); err != nil {
			p.fail("%w", err)
		}
		text, err := unpacked(file)
		if err != nil || !strings.Contains(text, "axle-hub-0") {
			p.fail("the bundle has no pod of the hub: %v", err)
		}
		if strings.Contains(text, canary) {
			return "a password of the hub's pod"
		}
		return ""
	},
}

// unpacked is everything in an archive.
func unpacked(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for r := tar.NewReader(packed); ; {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return all.String(), nil
		} else if err != nil {
			return "", err
		}
		if _, err := io.Copy(&all, r); err != nil {
			return "", err
		}
	}
}

var storeToken = Attack{
	Class: "C3", Name: "token-of-a-store", Needs: API,
	Story: "Somebody who may write a project changes the address of a store of metrics, or the tenant or cluster that is read there, without its token, and has the hub use the token for it.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		p.newCluster("edge", "lab", "")
		apply := func(by caller, more string) answer {
			return by.call("TelemetrySources/Apply", `{"name": "<<store>>", "settings": {"project": "<<lab>>", "cluster": "<<edge>>", "type": "prometheus", "auth": "bearer"%s}}`, more)
		}
		p.later("TelemetrySources/Delete", `{"name": "<<store>>"}`)
		for _, a := range []answer{apply(p.admin(), `, "url": "https://metrics.example.com", "token": "hunter2"`), apply(mallory, `, "url": "https://metrics.example.com"`)} {
			if !a.ok() {
				p.fail("declare a store: %d: %s", a.status, a.text)
			}
		}
		for _, to := range []string{"https://evil.example.com", "https://metrics.example.com:8443", "https://metrics.example.com.evil.example.com", "https://metrics.example.com@evil.example.com", "https://metrics.example.com/../.."} {
			if apply(mallory, `, "url": "`+to+`"`).ok() {
				return "the token goes to " + to
			}
		}
		for _, limit := range []string{`"tenant": "prod"`, `"clusterLabel": "cluster", "clusterValue": "prod"`, `"namespaceLabel": "job"`} {
			if apply(mallory, `, "url": "https://metrics.example.com", `+limit).ok() {
				return "the token reads what it was not given for: " + limit
			}
		}
		if a := mallory.call("TelemetrySources/Get", `{"name": "<<store>>"}`); strings.Contains(a.text, "hunter2") {
			return "the token, by reading the store"
		}
		return ""
	},
}
