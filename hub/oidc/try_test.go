package oidc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// A trial shows what a login would give, as a login decides it, and gives nothing.
func TestATrialShowsWhatALoginWouldGive(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		u := b.user("bob@example.com")
		for _, group := range []string{"orders-admins", "others"} {
			if _, err := b.CreateGroup(t.Context(), b.Ann.Name, group, ""); err != nil {
				t.Fatal(err)
			}
			if err := b.AddMember(t.Context(), b.Ann.Name, group, u.Name); err != nil {
				t.Fatal(err)
			}
		}
		b.clients.change(app, func(c *application.Client) { c.GroupsPrefix = "orders-" })
		b.AddUser("eve@example.com")
		address := b.url + "/oidc/try?client_id=" + app
		shows := func(name string, status int, words ...string) {
			t.Helper()
			v := b.visitor(name)
			v.get(address)
			for _, word := range words {
				if v.status != status || !strings.Contains(v.page, word) {
					t.Errorf("%s: %d, without %q: %s", name, v.status, word, v.page)
				}
			}
			if strings.Contains(v.page, "others") {
				t.Errorf("%s: a group that the application does not get: %s", name, v.page)
			}
		}
		shows("bob@example.com", http.StatusOK, "may log in", "<dd>"+u.ID+"</dd>", "<dd>bob@example.com</dd>", "<dd>orders-admins</dd>", "<dd>"+app+"</dd>", "refeds.org/profile/sfa")
		shows("eve@example.com", http.StatusOK, "would be refused", "Ask olga@example.com for access")
		b.clients.change(app, func(c *application.Client) { c.SecondFactor = true })
		shows("bob@example.com", http.StatusOK, "would be refused", "second factor")
		v := b.visitor("")
		if v.get(address); v.url.Path != "/login" || v.url.Query().Get("next") != "/oidc/try?client_id="+app {
			t.Errorf("nobody is led to %s", v.url)
		}
		v = b.visitor("bob@example.com")
		if v.get(b.url + "/oidc/try?client_id=none"); v.status != http.StatusNotFound || !strings.Contains(v.page, "has no application") {
			t.Errorf("an application that is not there: %d %s", v.status, v.page)
		}
		// Nothing was given: the person is asked for consent the first time yet.
		v.get(b.url + "/oidc/authorize?" + asked(nil).Encode())
		if b.clients.get(app).SecondFactor && v.status != http.StatusForbidden {
			t.Errorf("a login after the trial: %d", v.status)
		}
	})
}
