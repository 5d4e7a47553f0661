package world_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/kube"
)

// generatingChart generates values that charts typically generate in each render: a
// password, also inside a URL, an identifier, a certificate with its authority, which
// a webhook trusts, and a checksum over them.
var generatingChart = map[string]string{
	"Chart.yaml":  "apiVersion: v2\nname: random\nversion: 1.0.0\n",
	"values.yaml": "more: \"\"\n",
	"templates/all.yaml": `{{- $password := randAlphaNum 24 }}
{{- $ca := genCA "axle-test" 30 }}
{{- $cert := genSignedCert "web" nil (list "web.random.svc") 30 $ca }}
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData:
  password: {{ $password }}
  {{- with .Values.more }}
  more: {{ . }}
  another: {{ randAlphaNum 24 }}
  {{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  url: postgres://web:{{ $password }}@db/web
  id: {{ uuidv4 }}
  made: {{ now | date "2006-01-02T15:04:05" | quote }}
---
apiVersion: v1
kind: Secret
metadata: {name: tls}
type: kubernetes.io/tls
data:
  tls.crt: {{ $cert.Cert | b64enc }}
  tls.key: {{ $cert.Key | b64enc }}
  ca.crt: {{ $ca.Cert | b64enc }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: random.axle.test}
webhooks:
  - name: random.axle.test
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    matchPolicy: Equivalent
    timeoutSeconds: 5
    namespaceSelector: {}
    objectSelector: {}
    rules: [{apiGroups: [nobody.axle.test], apiVersions: [v1], operations: [CREATE], resources: [nothings], scope: "*"}]
    clientConfig:
      caBundle: {{ $ca.Cert | b64enc }}
      service: {name: web, namespace: random, path: /, port: 443}
---
apiVersion: v1
kind: PodTemplate
metadata: {name: web}
template:
  metadata:
    labels: {app: web}
    annotations:
      checksum/secret: {{ printf "%s%s" $password .Values.more | sha256sum }}
      rollme: {{ randAlphaNum 5 | quote }}
  spec:
    containers: [{name: web, image: "example.org/web:1"}]
`,
}

// writes are the requests of the agent that change something.
func writes(events kube.AuditEvents) (all []string) {
	for _, e := range events.ByUser("axle-agent").Requests() {
		switch e.Verb {
		case "create", "update", "patch", "delete", "deletecollection":
			all = append(all, e.Verb+" "+e.URI)
		}
	}
	return all
}

// random is the chart's generated value in the API server.
func (s *stage) random() (objects map[string]map[string]string) {
	s.t.Helper()
	objects = map[string]map[string]string{}
	for _, name := range []string{"secret/password", "secret/tls", "configmap/settings", "podtemplate/web", "validatingwebhookconfiguration/random.axle.test"} {
		result, err := s.Kubectl(s.t.Context(), "edge", "get", name, "-n", "random", "-o", "json")
		s.must(err)
		var o struct {
			Metadata struct{ ResourceVersion string }
			Data     map[string]string
			Template struct {
				Metadata struct{ Annotations map[string]string }
			}
			Webhooks []struct{ ClientConfig struct{ CABundle string } }
		}
		s.must(json.Unmarshal([]byte(result.Out), &o))
		all := map[string]string{"version": o.Metadata.ResourceVersion}
		for key, value := range o.Data {
			all[key] = value
		}
		for key, value := range o.Template.Metadata.Annotations {
			all[key] = value
		}
		for _, w := range o.Webhooks {
			all["caBundle"] = w.ClientConfig.CABundle
		}
		objects[name] = all
	}
	return objects
}

// renders counts how often the agent rendered.
func (s *stage) renders() int {
	s.t.Helper()
	text, err := os.ReadFile(s.agents["edge"].Log)
	s.must(err)
	return strings.Count(string(text), "rendering a service")
}

// forget kills the agent and removes its files but for who it is, which an
// agent in a cluster has in a Secret.
func (s *stage) forget() {
	s.t.Helper()
	agent := s.agents["edge"]
	s.must(agent.Kill())
	entries, err := os.ReadDir(agent.DataDir)
	s.must(err)
	for _, e := range entries {
		if !strings.Contains(e.Name(), "identity") && e.Name() != "bootstrap-token" {
			s.must(os.RemoveAll(filepath.Join(agent.DataDir, e.Name())))
		}
	}
	s.must(agent.Start())
}

// TestTenRendersOfGeneratedValuesWriteNothing deploys a chart that generates
// passwords and certificates, and has an agent that lost its disk render it ten
// times over.
func TestTenRendersOfGeneratedValuesWriteNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	files := map[string]string{}
	for name, text := range generatingChart {
		files["random/"+name] = text
	}
	_, err := s.Git.Commit(t.Context(), "fleet", "main", "a chart that generates", files)
	s.must(err)
	s.deploy("edge", "random", "random")
	s.rest()
	first := s.random()
	s.consistent(first)

	mark, err := s.Cluster("edge").AuditMark()
	s.must(err)
	for n := range 10 {
		before := s.renders()
		s.forget()
		s.eventual(fmt.Sprintf("render %d", n+1), func() error {
			if now := s.renders(); now <= before {
				return fmt.Errorf("%d renders so far", now)
			}
			return nil
		})
		s.rest() // the pass ends before the next kill
	}
	s.axle("services", "wait", "edge/random", "--timeout", "5m")
	s.rest()
	events, err := s.Cluster("edge").AuditSince(mark)
	s.must(err)
	if all := writes(events); len(all) != 0 {
		t.Errorf("ten renders of the same made %d writes:\n%s", len(all), strings.Join(all, "\n"))
	}

	// The check sees writes, and a change is one: a key beside the password.
	_, err = s.Git.Commit(t.Context(), "fleet", "main", "more", map[string]string{"random/values.yaml": "more: text\n"})
	s.must(err)
	s.eventual("the Secret has another key", func() error {
		if more := s.random()["secret/password"]["more"]; more == "" {
			return fmt.Errorf("it has none")
		}
		return nil
	})
	s.axle("services", "wait", "edge/random", "--timeout", "5m")
	s.eventual("the pods have another checksum", func() error {
		if s.random()["podtemplate/web"]["checksum/secret"] == first["podtemplate/web"]["checksum/secret"] {
			return fmt.Errorf("it is the same")
		}
		return nil
	})
	changed := s.random()
	s.consistent(changed)
	for name, key := range map[string]string{"secret/password": "password", "configmap/settings": "id", "secret/tls": "tls.key", "podtemplate/web": "rollme"} {
		if first[name][key] != changed[name][key] {
			t.Errorf("%s of %s was generated anew", key, name)
		}
	}
	events, err = s.Cluster("edge").AuditSince(mark)
	s.must(err)
	if len(writes(events)) == 0 {
		t.Error("writes were not noticed: the test proves nothing")
	}
}

// consistent fails when what belongs together does not match.
func (s *stage) consistent(objects map[string]map[string]string) {
	s.t.Helper()
	decode := func(text string) string {
		out, err := base64.StdEncoding.DecodeString(text)
		s.must(err)
		return string(out)
	}
	pair := objects["secret/tls"]
	cert, err := tls.X509KeyPair([]byte(decode(pair["tls.crt"])), []byte(decode(pair["tls.key"])))
	s.must(err)
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	s.must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(decode(objects["validatingwebhookconfiguration/random.axle.test"]["caBundle"])))
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "web.random.svc"}); err != nil {
		s.t.Errorf("the webhook does not trust the certificate: %v", err)
	}
	password := decode(objects["secret/password"]["password"])
	if url := objects["configmap/settings"]["url"]; url != "postgres://web:"+password+"@db/web" {
		s.t.Error("the URL has another password than the Secret")
	}
}
