package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// A repository logs in with the account of its connection, and only at that server.
func TestScmConnection(t *testing.T) {
	token := &hubv1.RepositoryCredentials{Username: "x-access-token", Password: "t0ken"}
	for _, tt := range []struct {
		connection, url string
		want            *hubv1.CreateRepositoryRequest
		wrong           string
	}{
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "https://github.com/x/y", &hubv1.CreateRepositoryRequest{Auth: "token", Credentials: token, Options: &hubv1.RepositoryOptions{}}, ""},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "https://GitHub.com/x/y", &hubv1.CreateRepositoryRequest{Auth: "token", Credentials: token, Options: &hubv1.RepositoryOptions{}}, ""},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "HTTPS://acme@github.com:443/x/y", &hubv1.CreateRepositoryRequest{Auth: "token", Credentials: token, Options: &hubv1.RepositoryOptions{}}, ""},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "https://github.com:8443/x/y", nil, "is not sent to"},
		{"type: GITHUB, baseUrl: 'https://', tokenSecretRef: {name: scm, namespace: p}", "https://evil.example/x/y", nil, "is not sent to"},
		{"type: GITHUB, username: ci, proxy: {url: 'http://proxy.example'}, baseUrl: 'https://ghe.example/git/', tokenSecretRef: {name: scm, namespace: p}", "https://ghe.example/git/x/y",
			&hubv1.CreateRepositoryRequest{Auth: "token", Credentials: &hubv1.RepositoryCredentials{Username: "ci", Password: "t0ken"}, Options: &hubv1.RepositoryOptions{Proxy: "http://proxy.example"}}, ""},
		{"type: GITHUB, apiUrl: 'https://ghe.example/api/v3', baseUrl: 'https://ghe.example', tokenSecretRef: {namespace: p}, github: {appId: '1', installationId: '2', privateKeyRef: {name: scm, key: key}}", "https://ghe.example/x/y",
			&hubv1.CreateRepositoryRequest{Auth: "app", Credentials: &hubv1.RepositoryCredentials{AppId: "1", InstallationId: "2", PrivateKey: "pem"}, Options: &hubv1.RepositoryOptions{ApiUrl: "https://ghe.example/api/v3"}}, ""},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "https://evil.example/x/y", nil, "is not sent to https://evil.example/x/y"},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "https://github.com.evil.example/x", nil, "is not sent to"},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "https://github.com@evil.example/x", nil, "is not sent to"},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "http://github.com/x/y", nil, "is not sent to"},
		{"type: GITHUB, baseUrl: 'https://ghe.example/git', tokenSecretRef: {name: scm, namespace: p}", "https://ghe.example/gitx/y", nil, "is not sent to"},
		{"type: GITHUB, tokenSecretRef: {name: scm, namespace: p}", "ssh://git@github.com/x/y", nil, "use an https URL"},
		{"type: BITBUCKET_DATACENTER, tokenSecretRef: {name: scm, namespace: p}", "https://github.com/x/y", nil, "spec.baseUrl is required"},
		{"type: GITLAB, tokenSecretRef: {name: scm}", "https://gitlab.com/x/y", nil, "namespace is required"},
		{"type: GITLAB", "https://gitlab.com/x/y", nil, "set spec.tokenSecretRef"},
		{"type: GITLAB, tokenSecretRef: {name: empty, namespace: p}", "https://gitlab.com/x/y", nil, "has no key token"},
	} {
		items, err := read(t, "apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: r}\nspec: {url: '"+tt.url+"', connectionRef: {name: scm}}\n---\n"+
			"apiVersion: deployments.plural.sh/v1alpha1\nkind: ScmConnection\nmetadata: {name: scm}\nspec: {name: scm, "+tt.connection+"}\n---\n"+
			"{apiVersion: v1, kind: Secret, metadata: {name: scm, namespace: p}, stringData: {token: t0ken, key: pem}}\n---\n"+
			"{apiVersion: v1, kind: Secret, metadata: {name: empty, namespace: p}}")
		if tt.wrong != "" {
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tt.wrong) || strings.Contains(err.Error(), "t0ken") {
				t.Errorf("%s at %s: %v, want %s", tt.connection, tt.url, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.connection, err)
			continue
		}
		tt.want.Name, tt.want.Type, tt.want.Url = "r", "git", tt.url
		if diff := cmp.Diff(tt.want, items[0].Request, protocmp.Transform()); diff != "" || len(items) != 1 {
			t.Errorf("%s: %d items\n%s", tt.connection, len(items), diff)
		}
	}
}
