package notify_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestDearExpressionsDelayOnlyTheirProject holds that 50 routers with 20 dear expressions
// each get a share of a turn: the notification of another project comes with the first one,
// and theirs come in the end, each once.
func TestDearExpressionsDelayOnlyTheirProject(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		dear, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "dear"})
		b.must(err)
		other, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "other"})
		b.must(err)
		b.AddCluster("edge-1")
		web, api := b.AddService("edge-1", "web"), b.AddService("edge-1", "api")
		d.Exec(t, fmt.Sprintf("UPDATE services SET project_id = '%s' WHERE id = '%s'", dear.ID, web.ID), fmt.Sprintf("UPDATE services SET project_id = '%s' WHERE id = '%s'", other.ID, api.ID))
		b.sink(notify.SinkRequest{Name: "dear", Project: "dear"})
		b.sink(notify.SinkRequest{Name: "other", Project: "other"})
		filters := make([]notify.Filter, 19)
		for i := range filters {
			filters[i].Regex = fmt.Sprintf("(%d|(e?d?g?){27})x$", i)
		}
		for n := range 50 {
			b.route(notify.Router{Name: fmt.Sprintf("dear-%d", n), Project: "dear", Events: []string{"service.update"}, Filters: append(filters, notify.Filter{Regex: "web"}), Sinks: []string{"dear"}})
		}
		b.route(notify.Router{Name: "other", Project: "other", Events: []string{"service.update"}, Filters: []notify.Filter{{Regex: "api$"}}, Sinks: []string{"other"}})
		var all []event.Entry
		const events = 12 // three turns
		for n := range events {
			all = append(all, event.Entry{Kind: "service.failed", Object: fmt.Sprintf("service edge-1/web-%d", n), Service: web.ID})
		}
		b.happens(append(all, event.Entry{Kind: "service.failed", Object: "service edge-1/api", Service: api.ID})...)
		more, err := b.Collect(t.Context())
		b.must(err)
		if !more {
			t.Fatal("50 routers with 20 dear expressions took less than a share")
		}
		told := map[string]int{} // events by the sink of their router
		deliver := func() {
			b.clock.Advance(gathered)
			b.must(b.Deliver(t.Context()))
			for _, one := range b.take() {
				router, _, _ := strings.Cut(one.body.Router, "-")
				told[router] += len(one.body.Objects) + one.body.Others
			}
		}
		if deliver(); told["other"] != 1 || told["dear"] == 0 || told["dear"] == events {
			t.Errorf("after one turn, events by project: %v", told)
		}
		for more {
			more, err = b.Collect(t.Context())
			b.must(err)
		}
		behind, err := b.Store.Behind(t.Context())
		if err != nil || len(behind) != 0 {
			t.Errorf("behind in the end: %v, %v", behind, err)
		}
		for range events {
			deliver()
		}
		if told["other"] != 1 || told["dear"] != events {
			t.Errorf("in the end, events by project: %v, want %d", told, events)
		}
	})
}

// TestSlowDestinationsDelayOnlyTheirProject holds that a project with 50 destinations that do
// not answer delays no message of another project, neither one of the same turn nor a later
// one, and that it gets its own in the end.
func TestSlowDestinationsDelayOnlyTheirProject(t *testing.T) {
	d := storetest.SQLite(t)
	b := newBed(t, d)
	slow, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "slow"})
	b.must(err)
	other, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "zebra"})
	b.must(err)
	b.AddCluster("edge-1")
	web, api := b.AddService("edge-1", "web"), b.AddService("edge-1", "api")
	d.Exec(t, fmt.Sprintf("UPDATE services SET project_id = '%s' WHERE id = '%s'", slow.ID, web.ID), fmt.Sprintf("UPDATE services SET project_id = '%s' WHERE id = '%s'", other.ID, api.ID))
	answers := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-answers:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(hanging.Close)
	var names []string
	for n := range 50 {
		names = append(names, fmt.Sprintf("slow-%02d", n))
		b.sink(notify.SinkRequest{Name: names[n], Project: "slow", Type: send.Webhook, URL: hanging.URL})
	}
	b.sink(notify.SinkRequest{Name: "zebra", Project: "zebra"})
	b.route(notify.Router{Name: "slow", Project: "slow", Events: []string{"service.update"}, Sinks: names})
	b.route(notify.Router{Name: "zebra", Project: "zebra", Events: []string{"service.update"}, Sinks: []string{"zebra"}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	told := func(want int) {
		t.Helper()
		got := 0
		eventually.For(t, 30*time.Second, "the other project has its messages", func() error {
			b.clock.Advance(5 * time.Second)
			for _, one := range b.take() {
				got += len(one.body.Objects) + one.body.Others
			}
			if got < want {
				return fmt.Errorf("%d of %d events", got, want)
			}
			return nil
		})
	}
	broke := func(name, service string) event.Entry {
		return event.Entry{Kind: "service.failed", Object: "service edge-1/" + name, Service: service}
	}
	b.happens(broke("web", web.ID), broke("api", api.ID))
	told(1)
	b.happens(broke("api-2", api.ID))
	told(1)
	close(answers)
	eventually.For(t, time.Minute, "the slow ones have theirs", func() error {
		b.clock.Advance(5 * time.Second)
		for _, name := range names {
			s, err := b.Sink(t.Context(), name)
			if err != nil || s.Waiting > 0 {
				return fmt.Errorf("%s waits for %d, %w", name, s.Waiting, err)
			}
		}
		return nil
	})
	cancel()
	b.must(<-ended)
}

// TestDearestExpressionsAreRefused holds that the cost of an expression is known when it
// is written.
func TestDearestExpressionsAreRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.sink(notify.SinkRequest{Name: "ops"})
		for regex, fits := range map[string]bool{
			"^edge-[0-9]+/(web|api)$":                  true,
			strings.Repeat("service-name|", 38):        true,
			strings.Repeat("(a{1000})", 50):            false,
			strings.Repeat("(a{0,99}b?){9}", 1):        false,
			strings.Repeat("(x{1,250}y{1,250}){2}", 1): false,
		} {
			_, _, err := b.ApplyRouter(t.Context(), "user ann", notify.Router{Name: "r", Events: []string{"*"}, Sinks: []string{"ops"}, Filters: []notify.Filter{{Regex: regex}}}, false)
			if fits && err != nil || !fits && (!errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "filters[0].regex")) {
				t.Errorf("%.30s: %v, want that it fits: %v", regex, err, fits)
			}
		}
	})
}
