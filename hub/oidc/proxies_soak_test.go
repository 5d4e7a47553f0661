//go:build soak

package oidc_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/port"
)

// front is a proxy in front of an application that knows no OpenID Connect.
type front struct {
	// callback is the path of its redirect URI, ends the one of back-channel logout, if it has one.
	callback, ends string
	// start is its command, for an address and an application.
	start func(t *testing.T, b *bed, at, upstream string) *exec.Cmd
}

var fronts = map[string]front{
	// Debian's libapache2-mod-auth-openidc; AXLE_APACHE is a folder that holds both packages elsewhere than /.
	"mod_auth_openidc": {"/redirect_uri", "/redirect_uri?logout=backchannel", func(t *testing.T, b *bed, at, upstream string) *exec.Cmd {
		root, dir := os.Getenv("AXLE_APACHE"), t.TempDir()
		modules := root + "/usr/lib/apache2/modules/mod_"
		var conf strings.Builder
		for _, m := range []string{"mpm_event", "authn_core", "authz_core", "authz_user", "auth_openidc", "proxy", "proxy_http"} {
			fmt.Fprintf(&conf, "LoadModule %s_module %s%s.so\n", m, modules, m)
		}
		fmt.Fprintf(&conf, `ServerRoot %s
ServerName %s
Listen %s
PidFile %s/pid
ErrorLog /dev/stderr
User #65534
Group #65534
OIDCProviderMetadataURL %s/oidc/.well-known/openid-configuration
OIDCClientID %s
OIDCClientSecret "%s"
OIDCRedirectURI http://%s/redirect_uri
OIDCCryptoPassphrase "a passphrase of this test"
OIDCScope "openid email groups"
OIDCPKCEMethod S256
OIDCRemoteUserClaim email
OIDCPassClaimsAs headers
<Location />
AuthType openid-connect
Require claim groups:orders
</Location>
ProxyPass /redirect_uri !
ProxyPass / %s/
`, dir, at, at, dir, b.url, app, secret, at, upstream)
		file := filepath.Join(dir, "apache2.conf")
		if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(root+"/usr/sbin/apache2", "-X", "-f", file)
		if root != "" {
			c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+root+"/usr/lib/x86_64-linux-gnu")
		}
		return c
	}},
	"oauth2-proxy": {"/oauth2/callback", "", func(t *testing.T, b *bed, at, upstream string) *exec.Cmd {
		// As deploy/charts/signin-proxy has it, with a renewal at each request.
		return exec.Command(program(t, "oauth2-proxy"), "--http-address="+at, "--provider=oidc", "--skip-provider-button=true", "--code-challenge-method=S256", "--scope=openid email profile groups offline_access",
			"--oidc-groups-claim=groups", "--email-domain=*", "--reverse-proxy=true", "--redirect-url=http://"+at+"/oauth2/callback", "--upstream="+upstream, "--cookie-refresh=1s", "--cookie-secure=false",
			"--cookie-samesite=lax", "--pass-user-headers=true", "--allowed-group=orders", "--client-id="+app, "--client-secret="+secret, "--oidc-issuer-url="+b.url+"/oidc", "--cookie-secret=0123456789abcdef0123456789abcdef")
	}},
}

// program is one that test/oidc/party.sh builds.
func program(t *testing.T, name string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "../../test/oidc/party.sh", name)
	c.Stderr = t.Output()
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return filepath.Join(lines[len(lines)-1], name)
}

// Proxies that others wrote let in who is let in, pass on who that is, and end with the membership.
func TestProxiesLogPeopleIn(t *testing.T) {
	for name, f := range fronts {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, storetest.SQLite(t), 1)
			b.run()
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, "behind the login: "+cmp.Or(r.Header.Get("X-Forwarded-Email"), r.Header.Get("OIDC_CLAIM_email"))+" "+cmp.Or(r.Header.Get("X-Forwarded-Groups"), r.Header.Get("OIDC_CLAIM_groups")))
			}))
			t.Cleanup(upstream.Close)
			at, err := port.Address()
			if err != nil {
				t.Fatal(err)
			}
			c := f.start(t, b, at, upstream.URL)
			c.Stdout, c.Stderr = t.Output(), t.Output()
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
				_ = c.Wait()
			})
			b.clients.change(app, func(c *application.Client) {
				c.RedirectURIs = []string{"http://" + at + f.callback}
				if f.ends != "" {
					c.BackChannelLogoutURI = "http://" + at + f.ends
				}
			})
			eventually.For(t, limit, "the proxy listens", func() error {
				d := net.Dialer{}
				conn, err := d.DialContext(t.Context(), "tcp", at)
				if err == nil {
					err = conn.Close()
				}
				return err
			})
			if _, err := b.CreateGroup(t.Context(), b.Ann.Name, "orders", ""); err != nil {
				t.Fatal(err)
			}
			u := b.user("bob@example.com")
			v := b.visitor(u.Name)
			v.through("http://" + at)
			v.get("http://" + at + "/")
			v.answer("allow")
			if strings.Contains(v.page, "behind the login") {
				t.Errorf("somebody who is in no group of the proxy's: %s", v.page)
			}
			if err := b.AddMember(t.Context(), b.Ann.Name, "orders", u.Name); err != nil {
				t.Fatal(err)
			}
			v = b.visitor(u.Name)
			v.through("http://" + at)
			v.get("http://" + at + "/")
			if v.page != "behind the login: bob@example.com orders" {
				t.Fatalf("%d %s: %s", v.status, v.url, v.page)
			}
			if err := b.DeleteUser(context.WithoutCancel(t.Context()), b.Ann.Name, u.Name); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			eventually.For(t, limit, "the proxy's session has ended", func() error {
				if v.get("http://" + at + "/"); strings.Contains(v.page, "behind the login") {
					return fmt.Errorf("after %s: %s", time.Since(began), v.page)
				}
				return nil
			})
			t.Logf("%s: out after %s", name, time.Since(began))
		})
	}
}
