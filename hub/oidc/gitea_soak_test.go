//go:build soak

package oidc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/port"
)

// forge is a Gitea with its own database.
type forge struct {
	t                    *testing.T
	program, config, url string
}

const forgeAdmin = "root-of-the-forge"

func newForge(t *testing.T) *forge {
	t.Helper()
	at, err := port.Address()
	if err != nil {
		t.Fatal(err)
	}
	database, err := url.Parse(pg.New(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	password, _ := database.User.Password()
	f := &forge{t: t, program: program(t, "gitea"), config: filepath.Join(dir, "app.ini"), url: "http://" + at}
	host, port, _ := net.SplitHostPort(at)
	settings := fmt.Sprintf(`
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = %s
[server]
HTTP_ADDR = %s
HTTP_PORT = %s
ROOT_URL = %s/
STATIC_ROOT_PATH = %s
OFFLINE_MODE = true
DISABLE_SSH = true
[database]
DB_TYPE = postgres
HOST = %s
NAME = %s
USER = %s
PASSWD = %s
SSL_MODE = disable
[security]
INSTALL_LOCK = true
[oauth2_client]
ENABLE_AUTO_REGISTRATION = true
USERNAME = email
REGISTER_EMAIL_CONFIRM = false
[cron]
ENABLED = false
[log]
LEVEL = Critical
`, dir, host, port, f.url, filepath.Dir(f.program), database.Host, strings.TrimPrefix(database.Path, "/"), database.User.Username(), password)
	if err := os.WriteFile(f.config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	f.run("migrate")
	f.run("admin", "user", "create", "--admin", "--username", forgeAdmin, "--password", forgeAdmin, "--email", "root@forge.example", "--must-change-password=false")
	return f
}

func (f *forge) command(args ...string) *exec.Cmd {
	c := exec.Command(f.program, append([]string{"--config", f.config}, args...)...)
	c.Env = append(os.Environ(), "HOME="+filepath.Dir(f.config))
	c.Stdout, c.Stderr = f.t.Output(), f.t.Output()
	return c
}

func (f *forge) run(args ...string) {
	f.t.Helper()
	if err := f.command(args...).Run(); err != nil {
		f.t.Fatalf("gitea %v: %v", args, err)
	}
}

// start serves until the test ends.
func (f *forge) start() {
	f.t.Helper()
	c := f.command("web")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		_ = c.Wait()
	})
	eventually.For(f.t, limit, "Gitea serves", func() error {
		answer, err := http.Get(f.url + "/api/healthz")
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s", answer.Status)
		}
		return nil
	})
}

// ask calls its API as its administrator.
func (f *forge) ask(method, path string, body any, into any) {
	f.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+"/api/v1"+path, bytes.NewReader(text))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(forgeAdmin, forgeAdmin)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		f.t.Fatalf("%s %s: %s %s %v", method, path, answer.Status, got, err)
	}
	if into != nil {
		if err := json.Unmarshal(got, into); err != nil {
			f.t.Fatal(err)
		}
	}
}

// Gitea logs people in, by its own code: an account is made of the claims, the groups make
// somebody an administrator and a member of a team, and the next login takes that away.
func TestGiteaLogsPeopleIn(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	b.run()
	f := newForge(t)
	f.run("admin", "auth", "add-oauth", "--name", "axle", "--provider", "openidConnect", "--key", app, "--secret", secret, "--auto-discover-url", b.url+"/oidc/.well-known/openid-configuration",
		"--scopes", "openid", "--scopes", "email", "--scopes", "profile", "--scopes", "groups", "--group-claim-name", "groups", "--admin-group", "forge-admins",
		"--group-team-map", `{"orders": {"shop": ["editors"]}}`, "--group-team-map-removal")
	f.start()
	f.ask(http.MethodPost, "/orgs", map[string]string{"username": "shop"}, nil)
	var team struct {
		ID int64 `json:"id"`
	}
	f.ask(http.MethodPost, "/orgs/shop/teams", map[string]any{"name": "editors", "permission": "write", "units": []string{"repo.code"}}, &team)
	b.clients.change(app, func(c *application.Client) { c.RedirectURIs = []string{f.url + "/user/oauth2/axle/callback"} })
	for _, group := range []string{"orders", "forge-admins"} {
		if _, err := b.CreateGroup(t.Context(), b.Ann.Name, group, ""); err != nil {
			t.Fatal(err)
		}
	}
	u := b.user("bob@example.com")
	login := func(groups ...string) *visitor {
		t.Helper()
		for _, group := range groups {
			if err := b.AddMember(t.Context(), b.Ann.Name, group, u.Name); err != nil {
				t.Fatal(err)
			}
		}
		v := b.visitor(u.Name)
		v.through(f.url)
		v.get(f.url + "/user/oauth2/axle")
		if strings.Contains(v.page, `name="request"`) {
			v.answer("allow")
		}
		return v
	}
	is := func(admin bool, members int) {
		t.Helper()
		var who struct {
			Email string `json:"email"`
			Admin bool   `json:"is_admin"`
		}
		f.ask(http.MethodGet, "/users/bob", nil, &who)
		var in []struct{}
		f.ask(http.MethodGet, fmt.Sprintf("/teams/%d/members", team.ID), nil, &in)
		if who.Email != u.Name || who.Admin != admin || len(in) != members {
			t.Errorf("%+v, and %d members of the team", who, len(in))
		}
	}
	v := login("orders", "forge-admins")
	if v.status != http.StatusOK || !strings.HasPrefix(v.url.String(), f.url) {
		t.Fatalf("%d %s", v.status, v.url)
	}
	is(true, 1)
	for _, group := range []string{"orders", "forge-admins"} {
		if err := b.RemoveMember(t.Context(), b.Ann.Name, group, u.Name); err != nil {
			t.Fatal(err)
		}
	}
	login()
	is(false, 0)
	// Whom the application does not let in gets the page of the hub, and no account.
	if err := b.unbind(u.Name); err != nil {
		t.Fatal(err)
	}
	if v := login(); v.status != http.StatusForbidden || !strings.HasPrefix(v.url.String(), b.url) {
		t.Errorf("somebody who may not: %d %s", v.status, v.url)
	}
}
