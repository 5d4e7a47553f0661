package clusterapi

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/taken"
)

// A kubeconfig that Cluster API wrote, or whoever may write its Secrets, is used with the
// rights of the agent's process: it names nothing of that process.
func TestAKubeconfigRunsAndReadsNothing(t *testing.T) {
	const whole = `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "https://cp.example.test:6443", certificate-authority-data: Y2E=}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t0ken}}]
`
	for name, c := range map[string]struct{ was, is, refused string }{
		"what it should be":          {"", "", ""},
		"a program":                  {"{token: t0ken}", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}}", "runs a program"},
		"a provider":                 {"{token: t0ken}", "{auth-provider: {name: gcp}}", "runs a program"},
		"a file of a token":          {"{token: t0ken}", "{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}", "names a file"},
		"a file of a key":            {"{token: t0ken}", "{client-key: /etc/key, client-certificate: /etc/crt}", "names a file"},
		"a program that is not used": {"users: [", "users: [{name: other, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: id, interactiveMode: Never}}}, ", "runs a program"},
		"a file of an authority":     {"certificate-authority-data: Y2E=", "certificate-authority: /etc/ca", "names a file"},
		"nobody's certificate":       {"certificate-authority-data: Y2E=", "insecure-skip-tls-verify: true", "does not verify"},
		"a proxy":                    {"certificate-authority-data: Y2E=", `proxy-url: "http://127.0.0.1:1"`, "a proxy"},
		"no context":                 {"current-context: c", "current-context: d", "not complete"},
		"aliases":                    {"users: [{name: u, user: {token: t0ken}}]", "x: &a [" + strings.Repeat("aaaaaaaa,", 10000) + "]\ny: [" + strings.Repeat("*a,", 100) + "]", "no kubeconfig"},
		"something else":             {whole, "\x00", "no kubeconfig"},
		"nothing":                    {whole, "", "not complete"},
	} {
		text := whole
		if c.refused != "" {
			text = strings.Replace(whole, c.was, c.is, 1)
		}
		conf, err := restConfig([]byte(text))
		switch {
		case c.refused == "" && (err != nil || conf.Host != "https://cp.example.test:6443" || conf.BearerToken != "t0ken" || conf.Timeout != requestLimit):
			t.Errorf("%s: %v, %v", name, conf, err)
		case c.refused != "" && (!errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		case err != nil && strings.Contains(err.Error(), "t0ken"):
			t.Errorf("%s: the error quotes a credential: %v", name, err)
		}
	}
}

// FuzzKubeconfig reads what anybody may write who writes Secrets of a namespace: as the
// kubeconfig of a cluster, as an agent's identity, and as an object of Cluster API.
func FuzzKubeconfig(f *testing.F) {
	for _, text := range []string{"", "\x00", "current-context: c", "clusters: [{name: c, cluster: {server: x}}]", "a: &a [x, x]\nb: [*a, *a]", `{"clusterID": "cl_1"}`, `{"status": {"conditions": [{}, {}]}}`, strings.Repeat("[", 300), "users:\n" + strings.Repeat("- {}\n", 300)} {
		f.Add([]byte(text))
	}
	_, _ = restConfig([]byte("{}")) // what is made once
	f.Fuzz(func(t *testing.T, text []byte) {
		bytes := taken.By(func() {
			_, _ = restConfig(text)
			_ = identified(&corev1.Secret{Data: map[string][]byte{"identity.json": text}})
			_, _ = read(text)
		})
		if bytes > 4<<20+2048*len(text) {
			t.Errorf("%d bytes take %d", len(text), bytes)
		}
	})
}

// An agent writes its keys before it is registered.
func TestAnAgentWithKeysIsNotRegisteredYet(t *testing.T) {
	for text, want := range map[string]bool{
		`{"privateKey": "AAAA", "hubURL": "https://hub"}`: false, `{"privateKey": "AAAA", "clusterID": "cl_1"}`: true, ``: false, `{"clusterID": 1}`: false,
	} {
		if have := identified(&corev1.Secret{Data: map[string][]byte{"identity.json": []byte(text)}}); (have == "cl_1") != want {
			t.Errorf("%s: %q", text, have)
		}
	}
}
