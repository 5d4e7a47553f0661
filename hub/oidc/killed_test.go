package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// errDead is what a killed replica gets of its database.
var errDead = errors.New("this replica was killed")

// fate kills one replica of a bed, once it is armed: at the transaction that left counts, of
// all replicas, before it or once it is committed; or when it answers the request that left
// counts. Whoever waits for an answer of it gets none, as of a process that was killed.
type fate struct {
	mu    sync.Mutex
	at    moment
	left  int
	spent *mortal
}

// moment is when a replica is killed.
type moment string

const (
	never        moment = ""
	beforeCommit moment = "before a commit"
	afterCommit  moment = "after a commit"
	beforeAnswer moment = "before an answer"
)

// arm kills one replica at the nth moment from now on; never revives it, and reports
// whether one had been killed.
func (f *fate) arm(at moment, n int) (killed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	killed = f.spent != nil
	if killed {
		f.spent.dead.Store(false)
	}
	f.at, f.left, f.spent = at, n, nil
	return killed
}

// comes reports whether a moment of a replica is that of its death.
func (f *fate) comes(m *mortal, at ...moment) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range at {
		if f.at == one && f.spent == nil {
			f.left--
			if f.left < 0 {
				f.spent = m
				return true
			}
		}
	}
	return false
}

// took reports whether a replica was killed, and gives a request its body again.
func (f *fate) took(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.GetBody != nil {
		r.Body, _ = r.GetBody()
	}
	return f.spent != nil
}

func (f *fate) serve(w http.ResponseWriter, r *http.Request, by *replica) {
	held := httptest.NewRecorder()
	by.handler.ServeHTTP(held, r)
	if f.comes(by.writer, beforeAnswer) {
		by.writer.dead.Store(true)
	}
	if by.writer.dead.Load() {
		panic(http.ErrAbortHandler)
	}
	for name, values := range held.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(held.Code)
	_, _ = w.Write(held.Body.Bytes())
}

// mortal is the writer of a replica.
type mortal struct {
	*storetest.Store
	fate *fate
	dead atomic.Bool
}

var alert = regexp.MustCompile(`role="alert">([^<]*)`)

// problem is what a page says is wrong.
func (v *visitor) problem() string { return strings.Join(alert.FindStringSubmatch(v.page), " ") }

type within struct{}

// Write implements identity.Writer.
func (m *mortal) Write(ctx context.Context, fn func(context.Context) error) error {
	if ctx.Value(within{}) != nil {
		return m.Store.Write(ctx, fn)
	}
	if m.fate.comes(m, beforeCommit) {
		m.dead.Store(true)
	}
	if m.dead.Load() {
		return errDead
	}
	err := m.Store.Write(context.WithValue(ctx, within{}, true), fn)
	if m.fate.comes(m, afterCommit) {
		m.dead.Store(true)
		return errDead
	}
	return err
}

// forget deletes what a person agreed to for the client app.
func (b *bed) forget(userID string) {
	b.T.Helper()
	s := b.Fleet.Store
	if err := s.Write(b.T.Context(), func(ctx context.Context) error { return s.DeleteConsent(ctx, userID, app) }); err != nil {
		b.T.Fatal(err)
	}
}

// One of three replicas is killed at each transaction and each answer of every flow. Whoever
// asks again gets what they would have got, or begins again without a page; a code that was
// lost gives nothing to anybody, and no login is left over.
func TestAReplicaIsKilledInEveryFlow(t *testing.T) {
	b := newBed(t, storetest.Postgres(t), 3)
	u := b.user("bob@example.com")
	b.clients.change(app, func(c *application.Client) { c.PostLogoutRedirectURIs = []string{"https://orders.example.com/bye"} })
	orders := b.clients.get(app)
	b.clients.change("stock", func(c *application.Client) {
		*c = orders
		c.ID, c.Name = "stock", "stock"
	})
	person := func() *visitor { return b.visitor(u.Name) }
	// login is what an application does: where a code is refused it sends the person again.
	login := func(v *visitor) answer {
		t.Helper()
		a := b.trade(v.authorize(nil).Get("code"))
		if a.text("error") == "invalid_grant" {
			a = b.trade(v.authorize(map[string]string{"prompt": "none"}).Get("code"))
		}
		return a
	}
	works := func(a answer) error {
		if a.status != http.StatusOK || a.text("access_token") == "" {
			return fmt.Errorf("%d %v", a.status, a.body)
		}
		if got := b.userinfo(a.text("access_token")); got.status != http.StatusOK {
			return fmt.Errorf("the access token: %d %v", got.status, got.body)
		}
		return nil
	}
	flows := map[string]func() func() error{
		"consent, code and token": func() func() error {
			b.forget(u.ID)
			v := person()
			return func() error { return works(login(v)) }
		},
		"refresh": func() func() error {
			first := login(person())
			return func() error {
				next := b.refresh(first.text("refresh_token"))
				if err := works(next); err != nil {
					return err
				}
				return works(b.refresh(next.text("refresh_token")))
			}
		},
		"device": func() func() error {
			v := person()
			return func() error {
				for range 2 {
					begun := b.call("/device", url.Values{"scope": {"openid email"}})
					v.get(b.url + "/oidc/device?user_code=" + begun.text("user_code"))
					if !strings.Contains(v.page, `name="user_code"`) {
						return fmt.Errorf("the page of the device: %d %s", v.status, v.problem())
					}
					v.decide("/oidc/device/answer", "allow")
					a := b.call("/token", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {begun.text("device_code")}})
					if a.text("error") != "invalid_grant" {
						return works(a)
					}
				}
				return errors.New("the device was refused twice")
			}
		},
		"exchange": func() func() error {
			first := login(person())
			return func() error {
				return works(b.call("/token", url.Values{"client_id": {"stock"}, "client_secret": {secret}, "grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {first.text("access_token")}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}}))
			}
		},
		"client credentials": func() func() error {
			return func() error {
				if a := b.call("/token", url.Values{"grant_type": {"client_credentials"}}); a.status != http.StatusOK {
					return fmt.Errorf("%d %v", a.status, a.body)
				}
				return nil
			}
		},
		"revocation": func() func() error {
			first := login(person())
			return func() error {
				if a := b.call("/revoke", url.Values{"token": {first.text("refresh_token")}}); a.status != http.StatusOK {
					return fmt.Errorf("%d %v", a.status, a.body)
				}
				if a := b.refresh(first.text("refresh_token")); a.text("error") != "invalid_grant" {
					return fmt.Errorf("the token is used: %d %v", a.status, a.body)
				}
				return nil
			}
		},
		"logout": func() func() error {
			v := person()
			first := login(v)
			return func() error {
				v.get(b.url + "/oidc/logout?" + url.Values{"id_token_hint": {first.text("id_token")}, "post_logout_redirect_uri": {"https://orders.example.com/bye"}}.Encode())
				if to := v.header.Get("Location"); to != "https://orders.example.com/bye" {
					return fmt.Errorf("led to %q: %d %s", to, v.status, v.problem())
				}
				if q := v.authorize(map[string]string{"prompt": "none"}); q.Get("error") != "login_required" {
					return fmt.Errorf("after the logout: %v", q)
				}
				return nil
			}
		},
	}
	for name, prepare := range flows {
		deaths := 0
		for _, at := range []moment{beforeCommit, afterCommit, beforeAnswer} {
			for n := 0; ; n++ {
				act := prepare()
				b.fate.arm(at, n)
				err := act()
				if !b.fate.arm(never, 0) {
					if err != nil {
						t.Errorf("%s, nobody killed: %v", name, err)
					}
					break
				}
				if deaths++; err != nil {
					t.Errorf("%s, one killed at the %d. %s: %v", name, n+1, at, err)
				}
			}
		}
		if deaths < 2 {
			t.Errorf("%s: replicas were killed %d times only", name, deaths)
		}
	}
	// What was begun and never used ends by itself.
	carol := b.user("carol@example.com")
	for n := range 6 {
		b.fate.arm(afterCommit, n)
		login(b.visitor(carol.Name))
		b.fate.arm(never, 0)
	}
	b.Fleet.Clock.Advance(16 * time.Minute)
	live, err := b.replicas[0].writer.LiveGrants(t.Context(), []string{carol.ID}, app, b.Fleet.Clock.Now().UnixMicro())
	if err != nil {
		t.Fatal(err)
	}
	for pair, count := range live {
		// Six answers arrived; of those that were lost with a refresh token, one each at most.
		if count > 8 {
			t.Errorf("%v: %d logins are left", pair, count)
		}
	}
}

// The replica that notifies applications is killed at each of its transactions: another one
// ends the login, and sends the notice.
func TestTheReplicaThatNotifiesIsKilled(t *testing.T) {
	for _, at := range []moment{beforeCommit, afterCommit} {
		for n := range 3 {
			t.Run(fmt.Sprintf("%s %d", at, n+1), func(t *testing.T) {
				b := newBed(t, storetest.Postgres(t), 3)
				u, notices := b.user("bob@example.com"), b.notices(0)
				tokens := b.scoped(t, b.visitor(u.Name), "openid offline_access")
				b.runs(b.replicas[0])
				eventually.For(t, limit, "the keys are there", func() error {
					if len(b.published()) == 0 {
						return errors.New("none")
					}
					return nil
				})
				b.fate.arm(at, n)
				if err := b.unbind(u.Name); err != nil {
					t.Fatal(err)
				}
				b.runs(b.replicas[1])
				b.ended(tokens.text("refresh_token"))
				eventually.For(t, limit, "the application is notified", func() error {
					b.Fleet.Clock.Advance(1e9)
					if len(notices.all()) == 0 {
						return errors.New("no notice")
					}
					return nil
				})
				if claims := b.verified(notices.all()[0]); claims["sub"] != u.ID {
					t.Errorf("claims %v", claims)
				}
			})
		}
	}
}
