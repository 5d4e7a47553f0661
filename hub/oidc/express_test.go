package oidc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// expressApp starts an application on npm's express-openid-connect as the client app, and
// returns its address.
func (b *bed) expressApp(scope string) string {
	b.T.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, "node", "express-openid-connect.mjs", b.url+"/oidc", app, secret, scope)
	c.Dir, c.Stderr = filepath.Join("..", "..", "test", "oidc"), b.T.Output()
	out, err := c.StdoutPipe()
	if err != nil {
		b.T.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() {
		stop()
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		b.T.Fatalf("the application ended before it listened, see above; make deps installs express-openid-connect: %v", lines.Err())
	}
	at := lines.Text()
	b.clients.change(app, func(c *application.Client) {
		c.RedirectURIs, c.PostLogoutRedirectURIs, c.BackChannelLogoutURI = []string{at + "/callback"}, []string{at}, at+"/backchannel-logout"
	})
	return at
}

// through lets a browser follow redirects between the hub and an application.
func (v *visitor) through(application string) {
	v.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if at := r.URL.String(); !strings.HasPrefix(at, v.b.url+"/") && !strings.HasPrefix(at, application) {
			return http.ErrUseLastResponse
		}
		return nil
	}
}

// shown is what the application shows of its session.
type shown struct {
	On      bool
	User    map[string]any
	Refresh string
}

func (v *visitor) shown(application string) (s shown) {
	v.b.T.Helper()
	v.get(application + "/")
	if err := json.Unmarshal([]byte(v.page), &s); err != nil {
		v.b.T.Fatalf("%d %s: %v", v.status, v.page, err)
	}
	return s
}

// An application that others wrote logs people in, and out: by itself, by the hub's logout,
// and by a notice when a person is deleted, leaves a group or loses the project. Its refresh
// tokens end with that.
func TestExpressOpenIDConnectLogsInAndOut(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		b.run()
		ctx := t.Context()
		if _, err := b.CreateGroup(ctx, b.Ann.Name, "orders", ""); err != nil {
			t.Fatal(err)
		}
		at := b.expressApp("openid profile email groups offline_access")
		for _, one := range []struct {
			name string
			// ends is what ends the session; refreshes reports whether the refresh token stays.
			ends      func(v *visitor, user string) error
			refreshes bool
		}{
			{"the application's logout", func(v *visitor, _ string) error { v.get(at + "/logout"); return nil }, true},
			{"the hub's logout", func(v *visitor, _ string) error {
				v.get(b.url + "/logout")
				v.decide("/logout", "")
				return nil
			}, true},
			{"the member removed", func(_ *visitor, user string) error { return b.RemoveMember(ctx, b.Ann.Name, "orders", user) }, false},
			{"the binding removed", func(_ *visitor, user string) error { return b.unbind(user) }, false},
			{"the user removed", func(_ *visitor, user string) error { return b.DeleteUser(ctx, b.Ann.Name, user) }, false},
			{"the group removed", func(*visitor, string) error { return b.DeleteGroup(ctx, b.Ann.Name, "orders") }, false},
		} {
			u := b.user(strings.ReplaceAll(one.name, " ", "-") + "@example.com")
			if err := b.AddMember(ctx, b.Ann.Name, "orders", u.Name); err != nil {
				t.Fatal(err)
			}
			b.clients.change(app, func(c *application.Client) { c.Users, c.Groups = nil, []string{"orders"} })
			for _, r := range b.replicas {
				eventually.For(t, limit, "every replica knows the member", func() error {
					if p, _ := r.Standing(u.ID); len(p.Groups) != 1 {
						return fmt.Errorf("groups %v", p.Groups)
					}
					return nil
				})
			}
			v := b.visitor(u.Name)
			v.through(at)
			v.get(at + "/login")
			v.answer("allow")
			s := v.shown(at)
			if groups, _ := s.User["groups"].([]any); !s.On || s.User["sub"] != u.ID || s.User["email"] != u.Name || len(groups) != 1 || groups[0] != "orders" {
				t.Fatalf("%s: logged in as %v", one.name, s)
			}
			if v.get(at + "/refresh"); v.status != http.StatusOK {
				t.Fatalf("%s: a refresh: %d %s", one.name, v.status, v.page)
			}
			token := v.shown(at).Refresh
			began := time.Now()
			if err := one.ends(v, u.Name); err != nil {
				t.Fatalf("%s: %v", one.name, err)
			}
			eventually.For(t, limit, one.name+": the application's session has ended", func() error {
				if s := v.shown(at); s.On {
					return fmt.Errorf("%v is logged in", s.User["email"])
				}
				return nil
			})
			if took := time.Since(began); took > eventually.Loaded(10*time.Second) { // docs/sign-in.md
				t.Errorf("%s: the session ended after %.0f s", one.name, took.Seconds())
			}
			if one.refreshes {
				if a := b.refresh(token); a.status != http.StatusOK {
					t.Errorf("%s: offline access: %v", one.name, a)
				}
				continue
			}
			b.ended(token)
			if a := b.refresh(token); a.text("error") != "invalid_grant" {
				t.Errorf("%s: a refresh afterwards: %v", one.name, a)
			}
		}
	})
}
