package console_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/hub/console"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/fleet/namespaces"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/eventually"
)

// still is a change feed in which nothing happens. It counts claims of lost
// places, which begin a new incarnation in a real one.
type still struct{ claims atomic.Int32 }

func (*still) Incarnation(context.Context) (event.Incarnation, error) {
	return event.Incarnation{ID: "a"}, nil
}
func (*still) LastSequence(context.Context) (int64, error)                   { return 7, nil }
func (*still) ChangesAfter(context.Context, int64, int) ([]event.Row, error) { return nil, nil }
func (*still) ConfirmIncarnation(context.Context) (event.Incarnation, error) {
	return event.Incarnation{}, nil
}
func (*still) Events(context.Context, string, string, int64, int, identity.Reach) ([]event.Entry, error) {
	return nil, nil
}
func (s *still) Repair(_ context.Context, _ event.Position, witness string) error {
	if witness != "" {
		s.claims.Add(1)
	}
	return nil
}

// behind is the edge of a replica that stays behind, on a clock that only the
// test moves, so that a waiting call does not return by itself.
func behind(t *testing.T, b *bed) (origin string, late *still, manual *clock.Manual) {
	t.Helper()
	late, manual = &still{}, clock.NewManual(time.Now())
	feed, err := event.NewFeed(event.FeedConfig{Store: late, Clock: manual})
	if err != nil {
		t.Fatal(err)
	}
	parts := b.Parts()
	s, err := console.New(console.Config{Identity: parts.Identity, Accounts: parts.Accounts, AgentKeys: parts.AgentKeys, Trusts: parts.Trusts, Fleet: parts.Fleet, Index: parts.Index, Globals: globals.New(globals.Config{}), Namespaces: namespaces.New(namespaces.Config{}), Notifier: &notify.Notifier{}, Objects: &objects.Objects{}, Made: &clusterapi.Clusters{}, Cache: parts.Cache, Feed: feed, Events: late.Events, Lives: late})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- feed.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err := eventually.Wait(t.Context(), limit, feed.Ready); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Register(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, late, manual
}

func TestClaimsOfWhatWasSeen(t *testing.T) {
	b := newBed(t)
	origin, late, manual := behind(t, b)
	const ahead = "b.1000000"
	t.Run("strangers are not waited for", func(t *testing.T) {
		for name, bearer := range map[string]string{"unknown": strings.Repeat("x", 40), "not a token": "x", "like one": b.AdminToken[:len(b.AdminToken)-1] + "~"} {
			status, header, text := post(t, origin, hubv1connect.ProjectsListProcedure, "{}", "Authorization", "Bearer "+bearer, "Axle-Seen", ahead)
			if status != http.StatusServiceUnavailable || header.Get("Retry-After") != "1" {
				t.Errorf("%s: %d, retry after %q: %s", name, status, header.Get("Retry-After"), text)
			}
		}
		if status, _, text := post(t, origin, hubv1connect.ProjectsListProcedure, "{}", "Axle-Seen", ahead); status != http.StatusUnauthorized {
			t.Errorf("without a token: %d: %s", status, text)
		}
	})
	t.Run("open calls do not wait", func(t *testing.T) {
		status, _, text := post(t, origin, hubv1connect.SessionsSetupProcedure, `{"setupToken": "x", "email": "a@example.com"}`, "Axle-Seen", ahead)
		if status != http.StatusUnauthorized {
			t.Errorf("%d: %s", status, text)
		}
	})
	t.Run("a token that is known waits and begins nothing", func(t *testing.T) {
		before, _ := manual.Waiting()
		ended := make(chan int, 1)
		go func() {
			status, _, _ := post(t, origin, hubv1connect.ProjectsListProcedure, "{}", "Authorization", "Bearer "+b.AdminToken, "Axle-Seen", ahead)
			ended <- status
		}()
		if err := eventually.Wait(t.Context(), limit, func() error {
			if n, _ := manual.Waiting(); n <= before {
				return errors.New("nobody waits")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		select {
		case status := <-ended:
			t.Fatalf("status %d without waiting", status)
		default:
		}
		// The feed may go to sleep again, so advance the clock until the call
		// ends.
		var status int
		if err := eventually.Wait(t.Context(), limit, func() error {
			manual.Advance(3 * time.Second)
			select {
			case status = <-ended:
				return nil
			default:
				return errors.New("the call still waits")
			}
		}); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusServiceUnavailable {
			t.Errorf("status %d", status)
		}
	})
	if n := late.claims.Load(); n != 0 {
		t.Errorf("%d claims of people reached the database", n)
	}
}
