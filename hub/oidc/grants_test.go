package oidc_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
)

// A device logs in by a code that a person types elsewhere, once.
func TestADeviceLogsIn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		u := b.user("bob@example.com")
		party, _ := b.openidClient(native, "")
		begun := party.do("device", map[string]any{"parameters": map[string]any{"scope": "openid email offline_access"}})
		code, _ := begun["user_code"].(string)
		device, _ := begun["device_code"].(string)
		poll := url.Values{"client_id": {native}, "grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {device}}
		if a := b.call("/token", poll); a.text("error") != "authorization_pending" {
			t.Errorf("before the answer: %v", a)
		}
		if a := b.call("/token", poll); a.text("error") != "slow_down" {
			t.Errorf("in a hurry: %v", a)
		}
		other := url.Values{"grant_type": poll["grant_type"], "device_code": {device}}
		if a := b.call("/token", other); a.text("error") != "invalid_grant" {
			t.Errorf("another client: %v", a)
		}
		v := b.visitor("bob@example.com")
		v.get(b.url + "/oidc/device?user_code=wrong")
		if v.status != http.StatusNotFound {
			t.Errorf("a wrong code: %d", v.status)
		}
		v.get(b.url + "/oidc/device?user_code=" + strings.ToLower(strings.ReplaceAll(code, "-", "")))
		if v.status != http.StatusOK || !strings.Contains(v.page, code) {
			t.Fatalf("the page of the code: %d %s", v.status, v.page)
		}
		v.decide("/oidc/device/answer", "allow")
		if v.status != http.StatusOK {
			t.Fatalf("allowed: %d %s", v.status, v.page)
		}
		b.Fleet.Clock.Advance(6e9)
		got := party.do("poll", map[string]any{})
		if deep(got, "claims", "sub") != u.ID || deep(got, "tokens", "refresh_token") == nil {
			t.Errorf("the device got %v", got)
		}
		if a := b.call("/token", poll); a.text("error") != "invalid_grant" {
			t.Errorf("a second time: %v", a)
		}
	})
}

// A client with a secret acts for itself, without a person's claims.
func TestAClientActsForItself(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		party, _ := b.openidClient(app, secret)
		token, _ := party.do("credentials", map[string]any{"parameters": map[string]any{"scope": "openid groups"}})["access_token"].(string)
		if a := b.userinfo(token); a.status != http.StatusForbidden {
			t.Errorf("userinfo of a client: %v", a)
		}
		if info := party.do("introspect", map[string]any{"token": token}); info["active"] != true || info["sub"] != app || info["scope"] != nil {
			t.Errorf("introspected %v", info)
		}
		if a := b.call("/token", url.Values{"client_id": {native}, "grant_type": {"client_credentials"}}); a.text("error") != "unauthorized_client" {
			t.Errorf("a public client: %v", a)
		}
	})
}

// A token is exchanged within a project only, for a client that lets the person in.
func TestTokensAreExchangedWithinAProject(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		u := b.user("bob@example.com")
		orders := b.clients.get(app)
		b.clients.change("stock", func(c *application.Client) {
			*c = orders
			c.ID, c.Name, c.Access = "stock", "stock", 10*orders.Access
		})
		token := b.scoped(t, b.visitor("bob@example.com"), "openid email").text("access_token")
		party, _ := b.openidClient("stock", secret)
		exchange := func(more map[string]any) (any, string) {
			t.Helper()
			parameters := map[string]any{"subject_token": token, "subject_token_type": "urn:ietf:params:oauth:token-type:access_token"}
			for name, value := range more {
				parameters[name] = value
			}
			ok, failed, _ := party.ask("generic", map[string]any{"grant": "urn:ietf:params:oauth:grant-type:token-exchange", "parameters": parameters})
			return ok, failed
		}
		got, failed := exchange(nil)
		object, _ := got.(map[string]any)
		next, _ := object["access_token"].(string)
		if info := party.do("introspect", map[string]any{"token": next}); failed != "" || info["sub"] != u.ID || info["client_id"] != "stock" || object["refresh_token"] != nil {
			t.Errorf("exchanged %v %s, introspected %v", got, failed, info)
		}
		// What is got ends with the token that it was got for, also when it is exchanged again.
		again, failed := exchange(map[string]any{"subject_token": next})
		for _, answer := range []any{got, again} {
			object, _ := answer.(map[string]any)
			if left, _ := object["expires_in"].(float64); left <= 0 || left > orders.Access.Seconds() {
				t.Errorf("an exchanged token lives %v s, the one that it was got for %s: %s", left, orders.Access, failed)
			}
		}
		for what, more := range map[string]map[string]any{
			"more scopes":        {"scope": "openid email groups"},
			"a refresh token":    {"requested_token_type": "urn:ietf:params:oauth:token-type:refresh_token"},
			"an ID token":        {"requested_token_type": "urn:ietf:params:oauth:token-type:id_token"},
			"another audience":   {"audience": app},
			"an actor":           {"actor_token": token, "actor_token_type": "urn:ietf:params:oauth:token-type:access_token"},
			"what is no token":   {"subject_token": "axo_a_nothing"},
			"an ID token's type": {"subject_token_type": "urn:ietf:params:oauth:token-type:id_token"},
		} {
			if got, failed := exchange(more); failed == "" {
				t.Errorf("%s: %v", what, got)
			}
		}
		b.clients.change("stock", func(c *application.Client) { c.ProjectID = "prj_other" })
		if got, failed := exchange(nil); failed != "invalid_request" {
			t.Errorf("a client of another project: %v %s", got, failed)
		}
	})
}

// A token that is about to end is exchanged for one that says so, and one that ends on the way
// for none: without expires_in, or with one that wrapped, a client keeps the new one for ever.
func TestTheLastMomentOfATokenIsExchanged(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	b.user("bob@example.com")
	b.clients.change("stock", func(c *application.Client) {
		*c = b.clients.all[app]
		c.ID, c.Name = "stock", "stock"
	})
	token := b.scoped(t, b.visitor("bob@example.com"), "openid").text("access_token")
	exchange := func() answer {
		return b.call("/token", url.Values{"client_id": {"stock"}, "client_secret": {secret}, "grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {token}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}})
	}
	b.Fleet.Clock.Advance(b.clients.get(app).Access - time.Second/2)
	if a := exchange(); a.status != http.StatusOK || a.body["expires_in"] != 1.0 {
		t.Errorf("half a second is left: %d %v", a.status, a.body)
	}
	var passed sync.Once
	b.clients.asked = func(id string) {
		if id == app { // the one of the token, which was valid until now
			passed.Do(func() { b.Fleet.Clock.Advance(time.Minute) })
		}
	}
	if a := exchange(); a.status != http.StatusBadRequest || a.text("error") != "invalid_request" || a.text("access_token") != "" {
		t.Errorf("the token ended on the way: %d %v", a.status, a.body)
	}
}

// ticking is the manual clock of a bed, which each reading of a provider moves on by tick.
type ticking struct {
	*clock.Manual
	tick atomic.Int64
}

// Now implements clock.Clock.
func (c *ticking) Now() time.Time {
	c.Advance(time.Duration(c.tick.Load()))
	return c.Manual.Now()
}

// However long an exchange takes, what is got ends with the token that it was got for.
func TestASlowExchangeGivesNoLongerToken(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	b.user("bob@example.com")
	b.clients.change("stock", func(c *application.Client) {
		*c = b.clients.all[app]
		c.ID, c.Name = "stock", "stock"
	})
	token, ends := b.scoped(t, b.visitor("bob@example.com"), "openid").text("access_token"), b.Fleet.Clock.Now().Add(b.clients.get(app).Access)
	b.clock.tick.Store(int64(time.Second))
	next := b.call("/token", url.Values{"client_id": {"stock"}, "client_secret": {secret}, "grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {token}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}}).text("access_token")
	b.clock.tick.Store(0)
	b.Fleet.Clock.Advance(ends.Sub(b.Fleet.Clock.Now()) - time.Microsecond)
	if a := b.userinfo(next); a.status != http.StatusOK {
		t.Errorf("a moment before the end: %d %v", a.status, a.body)
	}
	b.Fleet.Clock.Advance(time.Microsecond)
	if a := b.userinfo(next); a.status == http.StatusOK {
		t.Errorf("the token outlives the one that it was got for")
	}
}
