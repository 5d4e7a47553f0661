package clusters

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzKubeconfig reads any text as the kubeconfig that a management cluster has: of what
// comes out of it nothing runs a program and nothing names a file.
func FuzzKubeconfig(f *testing.F) {
	head := "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: 'https://a', certificate-authority: /etc/passwd, proxy-url: 'http://b'}}]\n"
	for _, text := range []string{head + "users: [{name: a, user: {token: t, tokenFile: /etc/passwd, exec: {command: sh}}}]\n", head + "users: [{name: a, user: &u {token: t}}, {name: b, user: *u}]\n", head, "a: &a [*a]", "", "[]", "current-context: null\ncontexts: [null]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		taken.Few(t, 4*len(text), func() {
			config, err := oneContext([]byte(text), "name")
			if err != nil {
				return
			}
			user, cluster := config.AuthInfos["name"], config.Clusters["name"]
			if user.Exec != nil || user.AuthProvider != nil || user.TokenFile != "" || user.ClientKey != "" || user.ClientCertificate != "" || cluster.CertificateAuthority != "" || cluster.ProxyURL != "" || cluster.InsecureSkipTLSVerify || len(config.Contexts) != 1 {
				t.Errorf("%+v %+v", user, cluster)
			}
			if _, err := clientcmd.Write(*config); err != nil {
				t.Error(err)
			}
		})
	})
}
