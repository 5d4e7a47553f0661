package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
)

const secret = "a secret of some length"

func sign(body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return hex.EncodeToString(mac.Sum(nil))
}

func delivery(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The bodies are cut to what their makers document, and a little beside.
func TestDeliveriesOfEveryProviderAreUnderstood(t *testing.T) {
	tests := map[string]struct {
		provider gitcache.Provider
		header   map[string]string
		body     string
		names    string // an address that must be among its URLs
		refs     []string
		nothing  bool
	}{
		"github push":   {gitcache.GitHub, map[string]string{"X-GitHub-Event": "push"}, "github_push.json", "https://github.com/octo-org/shop.git", []string{"refs/heads/main"}, false},
		"github ping":   {gitcache.GitHub, map[string]string{"X-GitHub-Event": "ping"}, "github_push.json", "", nil, true},
		"github star":   {gitcache.GitHub, map[string]string{"X-GitHub-Event": "star"}, "github_push.json", "", nil, true},
		"gitea push":    {gitcache.Gitea, map[string]string{"X-Gitea-Event": "push"}, "gitea_push.json", "git@git.example.com:team/shop.git", []string{"refs/heads/main"}, false},
		"gitlab push":   {gitcache.GitLab, map[string]string{"X-Gitlab-Event": "Push Hook"}, "gitlab_push.json", "ssh://git@gitlab.example.com:2222/group/sub/shop.git", []string{"refs/heads/main"}, false},
		"gitlab tag":    {gitcache.GitLab, map[string]string{"X-Gitlab-Event": "Tag Push Hook"}, "gitlab_tag.json", "https://gitlab.example.com/group/sub/shop.git", []string{"refs/tags/v1.0.0"}, false},
		"gitlab issue":  {gitcache.GitLab, map[string]string{"X-Gitlab-Event": "Issue Hook"}, "gitlab_push.json", "", nil, true},
		"bitbucket":     {gitcache.Bitbucket, map[string]string{"X-Event-Key": "repo:push"}, "bitbucket_push.json", "git@bitbucket.org:team/shop.git", []string{"main", "main"}, false},
		"data center":   {gitcache.Bitbucket, map[string]string{"X-Event-Key": "repo:refs_changed"}, "bitbucket_server.json", "https://bitbucket.example.com/scm/team/shop.git", []string{"refs/heads/main"}, false},
		"azure":         {gitcache.Azure, nil, "azure_push.json", "git@ssh.dev.azure.com:v3/fabrikam/Retail/shop", []string{"refs/heads/main"}, false},
		"azure comment": {gitcache.Azure, nil, "azure_comment.json", "", nil, true},
		"generic":       {gitcache.Generic, nil, "generic.json", "https://git.example.com/team/shop", []string{"refs/heads/main"}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tc.header {
				h.Set(k, v)
			}
			got, err := read(tc.provider, h, []byte(delivery(t, tc.body)))
			if err != nil {
				t.Fatal(err)
			}
			if got.nothing != tc.nothing {
				t.Fatalf("nothing is %v", got.nothing)
			}
			if tc.nothing {
				return
			}
			if diff := cmp.Diff(tc.refs, got.refs); diff != "" {
				t.Errorf("refs (-want +got):\n%s", diff)
			}
			found := false
			for _, u := range got.urls {
				found = found || address(u) == address(tc.names)
			}
			if !found {
				t.Errorf("%s is not among %q", tc.names, got.urls)
			}
		})
	}
}

func TestAddressesOfOneRepositoryAreOne(t *testing.T) {
	tests := map[string][]string{
		"git.example.com/team/shop": {
			"https://git.example.com/team/shop.git", "https://user:pw@git.example.com/team/shop/", "http://GIT.example.com:80/Team/Shop",
			"git@git.example.com:team/shop.git", "ssh://git@git.example.com:2222/team/shop.git", " https://git.example.com:443/team/shop ",
		},
		"git.example.com:8443/team/shop": {"https://git.example.com:8443/team/shop.git"},
		"dev.azure.com/fabrikam/retail/shop": {
			"https://fabrikam@dev.azure.com/fabrikam/Retail/_git/shop", "git@ssh.dev.azure.com:v3/fabrikam/Retail/shop", "https://fabrikam.visualstudio.com/Retail/_git/shop",
			"https://fabrikam.visualstudio.com/DefaultCollection/Retail/_git/shop", "fabrikam@vs-ssh.visualstudio.com:v3/fabrikam/Retail/shop",
		},
		"dev.azure.com/fabrikam/shop/shop": {
			"https://dev.azure.com/fabrikam/_git/shop", "https://fabrikam.visualstudio.com/_git/shop", "https://dev.azure.com/fabrikam/shop/_git/shop",
			"https://fabrikam.visualstudio.com/DefaultCollection/_git/shop", "git@ssh.dev.azure.com:v3/fabrikam/shop/shop",
		},
		"github.com/octo-org/shop": {
			"git@github.com:octo-org/shop.git", "ssh://git@ssh.github.com:443/octo-org/shop.git", "https://github.com/octo-org/shop",
		},
		"": {"", "shop", "/srv/git/shop.git", "https://", "%zz://x", "./a:b"},
	}
	for want, all := range tests {
		for _, u := range all {
			if got := address(u); got != want {
				t.Errorf("address(%q) = %q, not %q", u, got, want)
			}
		}
	}
}

func TestOnlyTheSecretVerifies(t *testing.T) {
	body := `{"ref":"refs/heads/main"}`
	basic := func(password string) string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth("anyone", password)
		return r.Header.Get("Authorization")
	}
	tests := map[string]struct {
		provider gitcache.Provider
		header   string
		good     string
		bad      []string
	}{
		"github":    {gitcache.GitHub, "X-Hub-Signature-256", "sha256=" + sign(body), []string{"", "sha256=", "sha256=" + sign(body+" "), "sha1=" + sign(body), "sha256=zz", sign(body)[:10]}},
		"gitea":     {gitcache.Gitea, "X-Gitea-Signature", sign(body), []string{"", sign("other"), secret}},
		"bitbucket": {gitcache.Bitbucket, "X-Hub-Signature", "sha256=" + sign(body), []string{"", "sha256=" + sign("other")}},
		"generic":   {gitcache.Generic, "X-Axle-Signature", "sha256=" + sign(body), []string{"", "sha256=" + sign("other"), secret}},
		"gitlab":    {gitcache.GitLab, "X-Gitlab-Token", secret, []string{"", secret[1:], secret + "x", sign(body)}},
		"azure":     {gitcache.Azure, "Authorization", basic(secret), []string{"", basic(""), basic("wrong"), "Bearer " + secret}},
	}
	verify := func(provider gitcache.Provider, secret string, h http.Header, body []byte) error {
		matches, err := proof(provider, secret, h)
		if err == nil {
			err = matches(body)
		}
		return err
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			h.Set(tc.header, tc.good)
			if err := verify(tc.provider, secret, h, []byte(body)); err != nil {
				t.Errorf("the right proof: %v", err)
			}
			for _, bad := range tc.bad {
				h.Set(tc.header, bad)
				err := verify(tc.provider, secret, h, []byte(body))
				if !errcode.Is(err, errcode.Unauthorized) {
					t.Errorf("%q: %v", bad, err)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error tells the secret: %v", err)
				}
			}
			// A webhook without a secret accepts nothing.
			if err := verify(tc.provider, "", http.Header{}, []byte(body)); err == nil {
				t.Error("no secret and no proof is let in")
			}
		})
	}
}

func TestAPushTouchesOnlyWhatFollowsItsRefs(t *testing.T) {
	commit := strings.Repeat("ab", 20)
	tests := map[string]struct {
		refs []string
		ref  string
		want bool
	}{
		"the branch":           {[]string{"refs/heads/main"}, "main", true},
		"the branch in full":   {[]string{"main"}, "refs/heads/main", true},
		"another branch":       {[]string{"refs/heads/feature"}, "main", false},
		"one of many":          {[]string{"refs/heads/feature", "refs/heads/main"}, "main", true},
		"the sender says none": {nil, "main", true},
		"a pinned commit":      {[]string{"refs/heads/main"}, commit, true},
		"a tag":                {[]string{"refs/tags/v1"}, "v1", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (push{refs: tc.refs}).touches(tc.ref); got != tc.want {
				t.Errorf("touches is %v", got)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"github_push.json", "gitlab_push.json", "bitbucket_push.json", "azure_push.json", "generic.json"} {
		f.Add("push", []byte(delivery(f, name)))
	}
	f.Fuzz(func(t *testing.T, event string, raw []byte) {
		for _, p := range []gitcache.Provider{gitcache.GitHub, gitcache.GitLab, gitcache.Gitea, gitcache.Bitbucket, gitcache.Azure, gitcache.Generic} {
			h := http.Header{}
			for _, name := range []string{"X-GitHub-Event", "X-Gitlab-Event", "X-Gitea-Event", "X-Event-Key"} {
				h.Set(name, event)
			}
			got, err := read(p, h, raw)
			if err != nil && !errcode.Is(err, errcode.Invalid) {
				t.Fatalf("%s: %v", p, err)
			}
			for _, u := range got.urls {
				_ = address(u)
			}
		}
	})
}
