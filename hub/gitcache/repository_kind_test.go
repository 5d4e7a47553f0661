package gitcache_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestRepositoriesOfEachKind checks what is refused before it is stored, and
// how the rest is stored.
func TestRepositoriesOfEachKind(t *testing.T) {
	t.Parallel()
	const helm, oci, bucket = gitcache.KindHelm, gitcache.KindOCI, gitcache.KindBucket
	verify := func(mode string, keys ...string) gitcache.Options {
		return gitcache.Options{Verify: gitcache.Verify{Mode: mode, Keys: keys}}
	}
	tests := map[string]struct {
		r     gitcache.Repository
		creds gitcache.Credentials
		url   string // as stored
		auth  gitcache.AuthKind
		err   string
	}{
		"helm":                  {r: gitcache.Repository{Kind: helm, URL: "HTTPS://Charts.Example.com/stable/"}, url: "https://charts.example.com/stable"},
		"helm with login":       {r: gitcache.Repository{Kind: helm, URL: "https://ci:secret@charts.example.com"}, err: "holds a password or token"},
		"helm with a user":      {r: gitcache.Repository{Kind: helm, URL: "https://ci@charts.example.com/"}, creds: gitcache.Credentials{Password: "pw"}, url: "https://charts.example.com", auth: gitcache.AuthBasic},
		"git with a token":      {r: gitcache.Repository{URL: "https://ghp_secret@github.com/acme/app"}, err: "holds a password or token"},
		"git with a long one":   {r: gitcache.Repository{URL: "https://" + strings.Repeat("x", 52) + "@dev.azure.com/acme/_git/secret"}, err: "holds a password or token"},
		"git, a token as user":  {r: gitcache.Repository{Kind: gitcache.KindGit, URL: "https://github.com/acme/app"}, creds: gitcache.Credentials{Username: "ghp_0123"}, url: "https://github.com/acme/app", auth: gitcache.AuthBasic},
		"git with a plain user": {r: gitcache.Repository{Kind: gitcache.KindGit, URL: "https://git.example.com/app"}, creds: gitcache.Credentials{Username: "ann"}, url: "https://git.example.com/app"},
		"helm by oci":           {r: gitcache.Repository{Kind: helm, URL: "oci://charts.example.com/x"}, err: `scheme "oci"`},
		"helm over ssh":         {r: gitcache.Repository{Kind: helm, URL: "ssh://charts.example.com/x"}, err: `scheme "ssh"`},
		"plain http":            {r: gitcache.Repository{Kind: helm, URL: "http://charts.example.com"}, err: "plain http"},
		"a query":               {r: gitcache.Repository{Kind: helm, URL: "https://charts.example.com/?token=secret"}, err: "query"},
		"nothing":               {r: gitcache.Repository{Kind: helm}, err: "cannot be read"},
		"oci":                   {r: gitcache.Repository{Kind: oci, URL: "oci://ghcr.io/acme/charts"}, url: "oci://ghcr.io/acme/charts"},
		"oci without a path":    {r: gitcache.Repository{Kind: oci, URL: "oci://ghcr.io"}, err: "names no repository"},
		"oci by https":          {r: gitcache.Repository{Kind: oci, URL: "https://ghcr.io/acme"}, err: `scheme "https"`},
		"bucket":                {r: gitcache.Repository{Kind: bucket, URL: "s3://acme"}, url: "s3://acme"},
		"a kind of its own":     {r: gitcache.Repository{Kind: "ftp", URL: "ftp://x/y"}, err: "not known"},
		"bearer without one":    {r: gitcache.Repository{Kind: helm, URL: "https://charts.example.com", Auth: gitcache.AuthBearer}, err: "needs a password"},
		"ssh for a registry":    {r: gitcache.Repository{Kind: oci, URL: "oci://ghcr.io/acme", Auth: gitcache.AuthSSH}, err: "is not for repositories of type oci"},
		"aws for git":           {r: gitcache.Repository{URL: "https://git.example.com/a.git", Auth: gitcache.AuthAWS}, err: "is not for Git"},
		"app without a key":     {r: gitcache.Repository{URL: "https://github.com/a/b.git", Auth: gitcache.AuthApp}, creds: gitcache.Credentials{AppID: "1"}, err: "GitHub App needs"},
		"no service account":    {r: gitcache.Repository{Kind: bucket, URL: "gs://acme", Auth: gitcache.AuthGCP}, creds: gitcache.Credentials{ServiceAccountJSON: "{}"}, err: "service account"},
		"cosign for helm":       {r: gitcache.Repository{Kind: helm, URL: "https://charts.example.com", Options: verify("cosign", "x")}, err: "use provenance"},
		"verified bucket":       {r: gitcache.Repository{Kind: bucket, URL: "s3://acme", Options: verify("cosign", "x")}, err: "cannot be verified"},
		"cosign, no key":        {r: gitcache.Repository{Kind: oci, URL: "oci://ghcr.io/acme", Options: verify("cosign")}, err: "needs trusted public keys"},
		"cosign, no PEM":        {r: gitcache.Repository{Kind: oci, URL: "oci://ghcr.io/acme", Options: verify("cosign", "hello")}, err: "not PEM"},
		"proxy with a user":     {r: gitcache.Repository{Kind: helm, URL: "https://charts.example.com", Options: gitcache.Options{Proxy: "http://u:p@proxy:1"}}, err: "proxy's URL holds a user"},
		"authority":             {r: gitcache.Repository{Kind: helm, URL: "https://charts.example.com"}, creds: gitcache.Credentials{CA: "none"}, err: "no PEM certificate"},
		"endpoint":              {r: gitcache.Repository{Kind: bucket, URL: "s3://acme", Options: gitcache.Options{Endpoint: "s3.example.com"}}, err: "endpoint is not a URL"},
		"http for helm":         {r: gitcache.Repository{Kind: helm, URL: "https://charts.example.com", Options: gitcache.Options{PlainHTTP: true}}, err: "type oci"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := NewMemory(nil)
			c, err := gitcache.New(gitcache.Config{Store: store, Dir: t.TempDir(), Replica: "hub-0"})
			if err != nil {
				t.Fatal(err)
			}
			tt.r.Name = "it"
			made, err := c.CreateRepository(t.Context(), tt.r, tt.creds)
			if tt.err != "" {
				if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("error is %v", err)
				}
				return
			}
			if err != nil || made.URL != tt.url || made.Auth != tt.auth || made.Kind != tt.r.Kind || made.Written != tt.r.URL {
				t.Errorf("%+v, %v", made, err)
			}
		})
	}
}
