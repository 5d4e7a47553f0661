package terraform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/sdk/settings"
	"github.com/axle-cd/axle/test/oidcserver"
)

// without removes variables of the environment.
func (w *workspace) without(names ...string) {
	var kept []string
	for _, one := range w.env {
		name, _, _ := strings.Cut(one, "=")
		drop := false
		for _, n := range names {
			drop = drop || n == name
		}
		if !drop {
			kept = append(kept, one)
		}
	}
	w.env = kept
}

// TestWhereTheHubIs tries each way to say it, and what is said when none is right.
func TestWhereTheHubIs(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	w := newWorkspace(t, h)
	w.without("AXLE_HUB_URL", "AXLE_TOKEN")
	plan := []string{"plan", "-no-color"}
	reads := "data \"axle_projects\" \"all\" {}\n"
	w.config(reads)
	w.fails(plan, "no hub is given", "axle login")

	// The file of axle login.
	file := filepath.Join(w.dir, "none.yaml")
	getenv := func(string) string { return file }
	if err := settings.Change(getenv, func(s *settings.Settings) error {
		s.Current, s.Contexts["here"] = "here", settings.Target{URL: h.URL, Token: h.AdminToken}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	w.run(plan...)
	w.config("provider \"axle\" {\n  context = \"elsewhere\"\n}\n" + reads)
	w.fails(plan, `axle login knows no context "elsewhere"`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}

	// Settings, with a token of a file and one that is wrong.
	w.write("token", h.AdminToken+"\n")
	w.config("provider \"axle\" {\n  url        = \"" + h.URL + "\"\n  token_file = \"token\"\n}\n" + reads)
	w.run(plan...)
	w.config("provider \"axle\" {\n  url   = \"" + h.URL + "\"\n  token = \"axle_wrong\"\n}\n" + reads)
	w.fails(plan, "The token was revoked or has expired")
	w.config("provider \"axle\" {\n  url   = \"http://127.0.0.1:1\"\n  token = \"x\"\n}\n" + reads)
	w.fails(plan, "cannot reach the hub at http://127.0.0.1:1")
	w.config("provider \"axle\" {\n  url   = \"" + h.URL + "\"\n  token = \"x\"\n  ca    = \"missing.pem\"\n}\n" + reads)
	w.fails(plan, "read the certificate authority")
}

// TestWorkloadIdentity logs in with a token of an issuer that the hub trusts.
func TestWorkloadIdentity(t *testing.T) {
	issuer := oidcserver.New(t)
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}})
	c := client(t, h)
	if _, err := c.ServiceAccounts.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceAccountRequest{Name: "ci", Admin: true})); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Federation.Create(t.Context(), connect.NewRequest(&hubv1.CreateTrustRequest{
		Name: "ci", Issuer: issuer.URL, Audience: h.URL, Account: "ci", Scopes: []string{"read", "write", "admin"}, Claims: map[string]string{"sub": "job"},
	})); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	token, err := issuer.Sign(map[string]any{"iss": issuer.URL, "aud": h.URL, "sub": "job", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorkspace(t, h)
	w.without("AXLE_TOKEN")
	cache := t.TempDir()
	w.env = append(w.env, "XDG_CACHE_HOME="+cache)
	w.write("job-token", token)
	config := "provider \"axle\" {\n  workload_identity = {\n    token_file = \"%s\"\n  }\n}\n" + shop
	w.config(strings.Replace(config, "%s", "job-token", 1))
	w.apply()
	w.empty()
	kept, err := filepath.Glob(filepath.Join(cache, "axle", "terraform-*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v", kept, err)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others can read the token: %v, %v", info.Mode(), err)
	}
	w.config(strings.Replace(config, "%s", "missing", 1))
	w.fails([]string{"plan", "-no-color"}, "read the token of the workload")
}
