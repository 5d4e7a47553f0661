package hub_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/oidcserver"
)

// declaration writes a file of login providers beside its secret.
type declaration struct {
	t   *testing.T
	dir string
}

func (d declaration) write(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

const declaredYAML = `providers:
- name: corp
  title: %s
  issuer: %s
  clientId: axle
  clientSecretFile: secret
  scopes: [email, groups]
  groupsClaim: groups
  groups: {eng: platform}
  emailDomains: [example.com]
`

// TestDeclaredProvidersLetPeopleIn checks that a new hub starts with the login
// providers in its file, and follows the file.
func TestDeclaredProvidersLetPeopleIn(t *testing.T) {
	ann := oidcserver.User{Subject: "s-ann", Name: "ann", Password: "anns password", Email: "ann@example.com", Groups: []string{"eng"}}
	p := oidcserver.New(t, ann)
	d := declaration{t, t.TempDir()}
	d.write("secret", "wrong\n")
	file := d.write("providers.yaml", fmt.Sprintf(declaredYAML, "Corporate", p.URL))
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{LoginProviders: file, Deploy: os.DirFS("../deploy")}})
	p.SetClient(oidcserver.Client{ID: "axle", Secret: "hush", Redirects: []string{h.URL + "/login/callback/corp"}})
	eventually.For(t, limit, "the provider is there", func() error {
		got, secret, err := h.Parts().Accounts.ProviderByName(t.Context(), "corp")
		if err == nil && (secret != "wrong" || got.Title != "Corporate" || got.Groups["eng"] != "platform") {
			err = fmt.Errorf("it is %+v with %q", got, secret)
		}
		return err
	})
	groups, err := h.Parts().Identity.Groups(t.Context())
	if err != nil || len(groups) != 1 || groups[0].Name != "platform" {
		t.Errorf("groups %v, %v", groups, err)
	}
	// The file changes, and so does its secret, without a restart.
	d.write("secret", "hush\n")
	d.write("providers.yaml", fmt.Sprintf(declaredYAML, "The company", p.URL))
	eventually.For(t, limit, "the provider follows its file", func() error {
		got, secret, err := h.Parts().Accounts.ProviderByName(t.Context(), "corp")
		if err == nil && (secret != "hush" || got.Title != "The company") {
			err = fmt.Errorf("it is %+v with %q", got, secret)
		}
		return err
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: limit}
	page := pageOf(t, browser, http.MethodGet, h.URL+"/login/oidc/corp", nil)
	m := regexp.MustCompile(`name=id value="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no login page of the provider: %s", page)
	}
	page = pageOf(t, browser, http.MethodPost, p.URL+"/signin", url.Values{"id": {m[1]}, "name": {ann.Name}, "password": {ann.Password}})
	if who := pageOf(t, browser, http.MethodGet, h.URL+"/login/session", nil); !strings.Contains(who, ann.Email) || !strings.Contains(who, "platform") {
		t.Errorf("the user is not logged in: %s; the last page was %s", who, page)
	}
	// A file that became wrong changes nothing.
	d.write("providers.yaml", "providers: [{name: corp, titel: x}]")
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := hub.New(hub.Config{DataDir: h.DataDir, Listen: "127.0.0.1:0", LoginProviders: file, Deploy: os.DirFS("../deploy")}); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "titel") {
		t.Errorf("a hub starts with a wrong file: %v", err)
	}
}

func pageOf(t *testing.T, client *http.Client, method, target string, form url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDeclaredProvidersThatAreRefused: each mistake is named, with its place.
func TestDeclaredProvidersThatAreRefused(t *testing.T) {
	d, data := declaration{t, t.TempDir()}, hubtest.Folder(t)
	d.write("empty", "")
	d.write("large", strings.Repeat("x", 1<<20+1))
	const good = "name: a, issuer: 'https://id.example.com', clientId: axle"
	for name, tc := range map[string]struct{ text, says string }{
		"unknown field":     {"providers: [{" + good + ", clientSecret: hush}]", "clientSecret"},
		"no YAML":           {"providers: [", "--login-providers"},
		"no name":           {"providers: [{issuer: 'https://id.example.com', clientId: axle}]", "providers[0]"},
		"plain http":        {"providers: [{name: a, issuer: 'http://id.example.com', clientId: axle}]", "not https"},
		"no client":         {"providers: [{name: a, issuer: 'https://id.example.com'}]", "client id"},
		"twice":             {"providers: [{" + good + "}, {" + good + "}]", "the name a is used twice"},
		"secret is missing": {"providers: [{" + good + ", clientSecretFile: none}]", "clientSecretFile"},
		"secret is empty":   {"providers: [{" + good + ", clientSecretFile: empty}]", "is empty"},
		"secret is large":   {"providers: [{" + good + ", clientSecretFile: large}]", "larger than"},
		"no certificate":    {"providers: [{" + good + ", caFile: providers.yaml}]", "PEM"},
		"unclaimed groups":  {"providers: [{" + good + ", groups: {a: b}}]", "no groups claim"},
	} {
		t.Run(name, func(t *testing.T) {
			file := d.write("providers.yaml", tc.text)
			_, err := hub.New(hub.Config{DataDir: data, Listen: "127.0.0.1:0", LoginProviders: file, Deploy: os.DirFS("../deploy")})
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v; want %q", err, tc.says)
			}
		})
	}
	if _, err := hub.New(hub.Config{DataDir: data, Listen: "127.0.0.1:0", LoginProviders: filepath.Join(d.dir, "none.yaml"), Deploy: os.DirFS("../deploy")}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("a file that is not there: %v", err)
	}
}
