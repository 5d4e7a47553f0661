package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
)

// delivery is a request that the destination received.
type delivery struct {
	header http.Header
	body   send.Content
}

// bed is a notifier over a real database, with a destination that says what answer says.
type bed struct {
	*fleettest.Fleet
	*notify.Notifier
	t      *testing.T
	clock  *clock.Manual
	url    string
	mu     sync.Mutex
	got    []delivery
	answer func(w http.ResponseWriter, r *http.Request)
	// between is called after the due messages were read.
	between func()
}

const token = "T0KENOFTHEDESTINATION"

func newBed(t *testing.T, d storetest.Database) *bed {
	b := &bed{Fleet: fleettest.New(t, d), t: t, clock: clock.NewManual(time.Now())}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		one := delivery{header: r.Header}
		if err := json.Unmarshal(text, &one.body); err != nil {
			t.Errorf("%v: %s", err, text)
		}
		b.mu.Lock()
		b.got = append(b.got, one)
		answer := b.answer
		b.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(server.Close)
	b.url = server.URL + "/hooks/" + token
	b.Notifier = b.another()
	return b
}

// another is the notifier of another replica, or after a restart.
func (b *bed) another() *notify.Notifier {
	b.t.Helper()
	s := b.Store
	n, err := notify.New(notify.Config{
		Writer: s, Sinks: s, Routers: s, Events: s, Queue: s, Outgoing: outgoing{s, b}, Inbox: s, Sealer: s.Sealer(), Clock: b.clock, URL: "https://hub.example.com",
		Project: b.ProjectScope, Sender: &send.Sender{Client: &http.Client{Transport: &http.Transport{}}, Clock: b.clock},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) sink(r notify.SinkRequest) notify.Sink {
	b.t.Helper()
	if r.Type == "" {
		r.Type, r.URL = send.Webhook, b.url
	}
	s, _, err := b.ApplySink(b.t.Context(), "user ann", r)
	b.must(err)
	return s
}

func (b *bed) route(r notify.Router) {
	b.t.Helper()
	_, _, err := b.ApplyRouter(b.t.Context(), "user ann", r, false)
	b.must(err)
}

// happens records events in one transaction.
func (b *bed) happens(entries ...event.Entry) {
	b.t.Helper()
	b.must(b.Store.Write(b.t.Context(), func(ctx context.Context) error {
		for _, e := range entries {
			if e.At == 0 {
				e.At = clock.Micros(b.clock.Now())
			}
			if err := event.Record(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

func failed(name, cause string) event.Entry {
	return event.Entry{Kind: "service.failed", Object: "service edge-1/" + name, By: "agent edge-1", Message: "it broke", Cause: cause}
}

// turn looks at the event log, and sends what is due after a time.
func (b *bed) turn(after time.Duration) {
	b.t.Helper()
	b.must(b.CollectAll(b.t.Context()))
	b.clock.Advance(after)
	b.must(b.Deliver(b.t.Context()))
}

// take returns what was delivered since the last call.
func (b *bed) take() []delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.got
	b.got = nil
	return got
}

// wants takes exactly one delivery.
func (b *bed) wants(title string) delivery {
	b.t.Helper()
	got := b.take()
	if len(got) != 1 {
		b.t.Fatalf("%d deliveries and not 1: %+v", len(got), got)
	}
	if got[0].body.Title != title {
		b.t.Errorf("title %q, want %q", got[0].body.Title, title)
	}
	return got[0]
}

func (b *bed) quiet() {
	b.t.Helper()
	if got := b.take(); len(got) != 0 {
		b.t.Fatalf("%d deliveries: %+v", len(got), got)
	}
}

func (b *bed) state(name string) notify.State {
	b.t.Helper()
	s, err := b.Sink(b.t.Context(), name)
	b.must(err)
	return s.State
}

// outgoing lets something happen after the due messages were read.
type outgoing struct {
	*storetest.Store
	b *bed
}

func (o outgoing) Due(ctx context.Context, sinkID string, now int64, limit int) ([]notify.Message, error) {
	due, err := o.Store.Due(ctx, sinkID, now, limit)
	if o.b.between != nil {
		o.b.between()
	}
	return due, err
}
