package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

const gathered = 11 * time.Second

// A report of an agent becomes a message, with the agent's own words.
func TestReportIsTold(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		cluster := b.AddCluster("edge-1")
		web := b.AddService("edge-1", "web")
		b.sink(notify.SinkRequest{Name: "ops", Type: send.Webhook, URL: b.url, Secret: "0123456789abcdef"})
		b.happens(failed("before", "")) // nobody asked for it
		b.route(notify.Router{Name: "all", Events: []string{"service.update"}, Filters: []notify.Filter{{Cluster: "edge-1", Service: "web"}}, Sinks: []string{"ops"}})
		report := fleettest.ReportOf(web, "", "h1")
		report.Status.Sync, report.Status.Message, report.Status.SourceRevision = fleet.Failed, "admission webhook denied <it>", "abcdef1234567890"
		b.Report(fleet.ReportBatch{ClusterID: cluster.ID, Reports: []fleet.Report{report}})
		b.turn(time.Second)
		b.quiet() // others of the same cause may come
		b.turn(gathered)
		got := b.wants("service edge-1/web failed")
		o := got.body.Objects[0]
		if o.Message != "admission webhook denied <it>" || o.Command != "axle services get edge-1/web" || got.body.Cause != "abcdef123456" || got.body.URL != "https://hub.example.com" || o.Age == "" {
			t.Errorf("%+v", got.body)
		}
		at := got.header.Get("Axle-Timestamp")
		body, _ := json.Marshal(got.body)
		if at == "" || got.header.Get("Idempotency-Key") != got.body.ID || got.header.Get("Axle-Signature") == "" {
			t.Errorf("headers %v of %s", got.header, body)
		}
		if s := b.state("ops"); s.Sent != 1 || s.Waiting != 0 || s.SentAt == 0 || s.Error != "" {
			t.Errorf("%+v", s)
		}
	})
}

// A router of a project gets nothing of other projects, whatever it asks for, and a
// service or a cluster in the project is enough.
func TestRoutersOfProjectsAreKeptApart(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		shop, err := b.CreateProject(t.Context(), "ann", fleet.NewProject{Name: "shop"})
		b.must(err)
		mine, theirs := b.AddCluster("edge-1"), b.AddCluster("edge-2")
		web, api := b.AddService("edge-1", "web"), b.AddService("edge-2", "api")
		own := b.AddService("edge-2", "own")
		d.Exec(t, fmt.Sprintf("UPDATE clusters SET project_id = '%s' WHERE id = '%s'", shop.ID, mine.ID), fmt.Sprintf("UPDATE services SET project_id = '%s' WHERE id IN ('%s', '%s')", shop.ID, web.ID, own.ID))
		b.sink(notify.SinkRequest{Name: "shop", Project: "shop"})
		b.route(notify.Router{Name: "shop", Project: "shop", Events: []string{"*"}, Sinks: []string{"shop"}})
		of := func(kind, object, cluster, service string) event.Entry {
			return event.Entry{Kind: kind, Object: object, Cluster: cluster, Service: service}
		}
		b.happens(
			of("service.failed", "service edge-2/api", theirs.ID, api.ID), of("cluster.created", "cluster edge-2", theirs.ID, ""),
			of("rollout.stopped", "rollout agents", "", ""), of("cluster.deleted", "cluster gone", "cl_gone", ""), of("service.failed", "service edge-1/web", "", "svc_gone"),
		)
		b.turn(gathered)
		b.quiet()
		b.happens(of("service.failed", "service edge-1/web", mine.ID, web.ID), of("service.failed", "service edge-2/own", theirs.ID, own.ID))
		b.turn(gathered)
		got := b.wants("2 services failed")
		if got.body.Objects[0].Name != "edge-1/web" || got.body.Objects[1].Name != "edge-2/own" {
			t.Errorf("%+v", got.body.Objects)
		}
	})
}

func TestFilters(t *testing.T) {
	b := newBed(t, storetest.SQLite(t))
	edge := b.AddCluster("edge-1")
	web := b.AddService("edge-1", "web")
	all := []event.Entry{
		{Kind: "service.failed", Object: "service edge-1/web", Cluster: edge.ID, Service: web.ID},
		{Kind: "cluster.created", Object: "cluster edge-1", Cluster: edge.ID},
		{Kind: "rollout.done", Object: "rollout agents"},
		{Kind: "service.healed", Object: "service edge-1/web", Cluster: edge.ID, Service: web.ID}, // no event of routers
	}
	for name, tc := range map[string]struct {
		events  []string
		filters []notify.Filter
		want    []string
	}{
		"all":                 {[]string{"*"}, nil, []string{"cluster.created", "rollout.done", "service.failed"}},
		"of a service":        {[]string{"*"}, []notify.Filter{{Service: "web"}}, []string{"service.failed"}},
		"of another":          {[]string{"*"}, []notify.Filter{{Service: "api"}}, nil},
		"of a cluster":        {[]string{"*"}, []notify.Filter{{Cluster: "edge-1"}}, []string{"cluster.created", "service.failed"}},
		"both must match":     {[]string{"*"}, []notify.Filter{{Service: "web", Cluster: "edge-2"}}, nil},
		"one of two":          {[]string{"*"}, []notify.Filter{{Cluster: "edge-2"}, {Regex: "^agents$"}}, []string{"rollout.done"}},
		"a regex":             {[]string{"*"}, []notify.Filter{{Regex: "/web$"}}, []string{"service.failed"}},
		"pipelines":           {[]string{"*"}, []notify.Filter{{Pipeline: "x"}}, nil},
		"silent and another":  {[]string{"alert.fired", "cluster.create"}, nil, []string{"cluster.created"}},
		"service.update":      {[]string{"service.update"}, nil, []string{"service.failed"}},
		"only what recovered": {[]string{"service.recovered"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.sink(notify.SinkRequest{Name: "s"})
			b.route(notify.Router{Name: "r", Events: tc.events, Filters: tc.filters, Sinks: []string{"s"}})
			b.happens(all...)
			b.turn(10 * time.Minute)
			var got []string
			for _, one := range b.take() {
				for _, o := range one.body.Objects {
					got = append(got, o.Event)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			b.must(b.DeleteRouter(t.Context(), "ann", "r"))
			b.must(b.DeleteSink(t.Context(), "ann", "s"))
		})
	}
}

// One commit that breaks 10,000 services is a few messages, and a few rows.
func TestOneCauseIsOneMessage(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.sink(notify.SinkRequest{Name: "ops"})
		b.route(notify.Router{Name: "a", Events: []string{"service.failed"}, Sinks: []string{"ops"}})
		b.route(notify.Router{Name: "b", Events: []string{"*"}, Sinks: []string{"ops"}}) // each event goes there once
		for start := 0; start < 10_000; start += 500 {
			var some []event.Entry
			for i := start; i < start+500; i++ {
				some = append(some, failed(fmt.Sprint("web-", i), "abc"))
			}
			b.happens(some...)
		}
		began := time.Now()
		b.must(b.CollectAll(t.Context()))
		t.Logf("10,000 events are collected in %v", time.Since(began))
		if s := b.state("ops"); s.Waiting != 1 {
			t.Errorf("%d messages wait", s.Waiting)
		}
		b.turn(gathered)
		got := b.wants("10000 services failed")
		if len(got.body.Objects) != 10 || got.body.Others != 9990 {
			t.Errorf("%d named, %d others", len(got.body.Objects), got.body.Others)
		}
		// What follows is told a minute after the first message.
		b.happens(failed("late", "abc"))
		b.turn(gathered)
		b.quiet()
		b.turn(time.Minute)
		b.wants("service edge-1/late failed")
	})
}

// Many causes at once, as when a cluster goes down, are one message too.
func TestManyCausesAreOneMessage(t *testing.T) {
	b := newBed(t, storetest.SQLite(t))
	b.sink(notify.SinkRequest{Name: "ops"})
	b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
	var some []event.Entry
	for i := range 300 {
		some = append(some, failed(fmt.Sprint("web-", i), fmt.Sprint("cause-", i)))
	}
	b.happens(some...)
	b.turn(gathered)
	if got := b.take(); len(got) != 6 || got[5].body.Others != 285 || got[5].body.Cause != "" {
		t.Errorf("%d messages: %+v", len(got), got)
	}
}

// What changes all the time is told at once, and then its last state after 5 minutes.
func TestFlappingIsDebounced(t *testing.T) {
	b := newBed(t, storetest.SQLite(t))
	b.sink(notify.SinkRequest{Name: "ops"})
	b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
	b.happens(failed("web", "abc"))
	b.turn(gathered)
	b.wants("service edge-1/web failed")
	for i := range 8 {
		e := failed("web", "abc")
		if i%2 == 0 {
			e.Kind = "service.recovered"
		}
		b.happens(e)
		b.turn(30 * time.Second)
		b.quiet()
	}
	b.turn(time.Minute)
	got := b.wants("service edge-1/web failed")
	if got.body.LeftOut != 7 || got.body.Objects[0].Changes != 8 {
		t.Errorf("%+v", got.body)
	}
	b.turn(10 * time.Minute)
	b.quiet()
}

func TestDestinationFails(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		tries  int
		says   string
	}{
		"500": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 8, "500 Internal Server Error"},
		"its words": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no "+r.URL.Path+" \x1b[31m", http.StatusServiceUnavailable)
		}, 8, "503 Service Unavailable: no [secret"},
		"gone": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no_service", http.StatusNotFound) }, 1, "404 Not Found: no_service"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		}, 1, "redirects are not followed"},
		"cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 8, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, storetest.SQLite(t))
			b.answer = tc.answer
			b.sink(notify.SinkRequest{Name: "ops"})
			b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
			b.happens(failed("web", ""))
			b.turn(gathered)
			hours := 0
			for ; b.state("ops").Waiting > 0 && hours < 100; hours++ {
				b.turn(20 * time.Minute)
			}
			got := b.take()
			if len(got) != tc.tries {
				t.Errorf("%d attempts, want %d", len(got), tc.tries)
			}
			for _, one := range got {
				if one.body.ID != got[0].body.ID {
					t.Error("attempts differ in their ids")
				}
			}
			s := b.state("ops")
			if s.Failed != 1 || !strings.Contains(s.Error, tc.says) || strings.Contains(s.Error, token) || strings.Contains(s.Error, "\x1b") {
				t.Errorf("%+v", s)
			}
			b.answer = nil
			b.happens(failed("api", "other"))
			b.turn(gathered)
			b.turn(2 * time.Minute)
			b.wants("service edge-1/api failed")
			if s := b.state("ops"); s.Error != "" || s.Sent != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A destination that asks to wait is left alone that long.
func TestRetryAfter(t *testing.T) {
	b := newBed(t, storetest.SQLite(t))
	b.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	b.sink(notify.SinkRequest{Name: "ops"})
	b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
	b.happens(failed("web", "x"), failed("api", "y"))
	b.turn(gathered)
	if got := b.take(); len(got) != 1 {
		t.Fatalf("%d attempts", len(got))
	}
	b.turn(9 * time.Minute)
	b.quiet()
	b.answer = nil
	b.turn(2 * time.Minute)
	if got := b.take(); len(got) != 2 {
		t.Fatalf("%d deliveries", len(got))
	}
}

// A replica that is killed between the delivery and its record sends once more, under
// the same id; of two that both believe to lead, one
// makes an attempt.
func TestTakeOver(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.sink(notify.SinkRequest{Name: "ops"})
		b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
		b.happens(failed("web", ""))
		b.must(b.CollectAll(t.Context()))
		killed, kill := context.WithCancel(t.Context())
		b.answer = func(http.ResponseWriter, *http.Request) { kill() }
		b.clock.Advance(gathered)
		_ = b.Deliver(killed)
		first := b.wants("service edge-1/web failed")
		b.answer = nil
		b.Notifier = b.another()
		b.turn(2 * time.Minute)
		if second := b.wants("service edge-1/web failed"); second.body.ID != first.body.ID {
			t.Error("the second delivery has another id")
		}
		b.happens(failed("api", "x"))
		b.must(b.CollectAll(t.Context()))
		b.clock.Advance(gathered)
		other := b.another()
		b.answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
		b.between = func() {
			b.between = nil
			b.must(other.Deliver(t.Context()))
		}
		b.must(b.Deliver(t.Context()))
		b.wants("service edge-1/api failed")
	})
}

// An event that is added to a message while it is about to be sent is in it, or in the
// next one.
func TestNoEventIsLostWhileAMessageIsSent(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.sink(notify.SinkRequest{Name: "ops"})
		b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
		b.happens(failed("web", "abc"))
		b.between = func() {
			b.between = nil
			b.happens(failed("api", "abc"))
			b.must(b.CollectAll(t.Context()))
		}
		b.turn(gathered)
		b.wants("2 services failed")
		b.happens(failed("db", "abc"))
		b.turn(10 * time.Minute)
		b.wants("service edge-1/db failed")
	})
}

// Of too many messages the oldest are dropped, and counted.
func TestQueueIsBounded(t *testing.T) {
	b := newBed(t, storetest.SQLite(t))
	s := b.sink(notify.SinkRequest{Name: "ops"})
	b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
	for i := range 1005 {
		b.must(b.Store.Write(t.Context(), func(ctx context.Context) error {
			return b.Store.PutMessage(ctx, notify.Message{ID: fmt.Sprintf("ntf_%04d", i), SinkID: s.ID, Topic: "x", State: notify.Open, CreatedAt: int64(i + 1), DueAt: 1 << 60})
		}))
	}
	b.happens(failed("web", ""))
	b.must(b.CollectAll(t.Context()))
	if s := b.state("ops"); s.Waiting != 1000 || s.Dropped != 6 || s.OldestAt != 7 {
		t.Errorf("%+v", s)
	}
}

// What waits in a database that is restored is not sent, and is counted.
func TestRestoredHubTellsNothingOld(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		b.sink(notify.SinkRequest{Name: "ops"})
		b.route(notify.Router{Name: "a", Events: []string{"*"}, Sinks: []string{"ops"}})
		b.happens(failed("web", ""))
		b.must(b.CollectAll(t.Context()))
		b.happens(failed("not-looked-at", "")) // the cursor is before it
		present, err := b.Store.Incarnation(t.Context())
		b.must(err)
		_, err = b.Store.BeginIncarnation(t.Context(), present.ID, "", false)
		b.must(err)
		b.turn(gathered)
		b.quiet()
		if s := b.state("ops"); s.Dropped != 1 || s.Waiting != 0 {
			t.Errorf("%+v", s)
		}
		b.happens(failed("new", ""))
		b.turn(10 * time.Minute)
		b.wants("service edge-1/new failed")
	})
}

// The URL and the key appear nowhere but in the request.
func TestURLIsASecret(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d)
		const key = "KEYTHATSIGNS-0123456789"
		r := notify.SinkRequest{Name: "ci", Type: send.Webhook, URL: b.url, Secret: key}
		s := b.sink(r)
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, token) || strings.Contains(text, key) || s.Host == "" || !s.Signed {
			t.Error(text)
		}
		b.answer = func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.URL.Path+" "+key, http.StatusInternalServerError)
		}
		if _, err := b.Test(t.Context(), "ann", "ci"); !errcode.Is(err, errcode.Unprocessable) || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), key) {
			t.Error(err)
		}
		b.answer = nil
		if answer, err := b.Test(t.Context(), "ann", "ci"); err != nil || answer != "200 OK" {
			t.Error(answer, err)
		}
		// The key does not follow the URL.
		r.URL, r.Secret = b.url+"2", ""
		if _, _, err := b.ApplySink(t.Context(), "eve", r); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "does not follow") {
			t.Error(err)
		}
		r.URL = b.url
		if _, outcome, err := b.ApplySink(t.Context(), "ann", r); err != nil || outcome != notify.Unchanged {
			t.Error(outcome, err)
		}
		d.WantAbsent(t, token)
		d.WantAbsent(t, key)
	})
}

func TestBadSinks(t *testing.T) {
	b := newBed(t, storetest.SQLite(t))
	for says, r := range map[string]notify.SinkRequest{
		"name:":           {Name: "No Name", Type: send.Slack, URL: "https://x.example.com"},
		"is not SLACK":    {Name: "a", Type: "PIGEON", URL: "https://x.example.com"},
		"must begin with": {Name: "a", Type: send.Slack, URL: "http://10.0.0.1/x"},
		"scheme":          {Name: "a", Type: send.Slack, URL: "ftp://x.example.com"},
		"with a host":     {Name: "a", Type: send.Slack, URL: "https:///x"},
		"user":            {Name: "a", Type: send.Slack, URL: "https://u:p@x.example.com"},
		"url: is missing": {Name: "a", Type: send.Teams},
		"only sinks":      {Name: "a", Type: send.Slack, URL: "https://x.example.com", Secret: "0123456789abcdef"},
		"16 to":           {Name: "a", Type: send.Webhook, URL: "https://x.example.com", Secret: "short"},
		"who see":         {Name: "a", Type: notify.Plural},
		"does not exist":  {Name: "a", Type: notify.Plural, Users: []string{"a"}, Project: "none"},
	} {
		if _, _, err := b.ApplySink(t.Context(), "ann", r); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", r, err, says)
		}
	}
	b.sink(notify.SinkRequest{Name: "s"})
	for says, r := range map[string]notify.Router{
		"events: is empty": {Name: "a", Sinks: []string{"s"}},
		"not known":        {Name: "a", Events: []string{"service.exploded"}, Sinks: []string{"s"}},
		"sinks: is empty":  {Name: "a", Events: []string{"*"}},
		"does not exist":   {Name: "a", Events: []string{"*"}, Sinks: []string{"other"}},
		"missing closing":  {Name: "a", Events: []string{"*"}, Sinks: []string{"s"}, Filters: []notify.Filter{{Regex: "("}}},
		"filters[0]":       {Name: "a", Events: []string{"*"}, Sinks: []string{"s"}, Filters: []notify.Filter{{}}},
	} {
		if _, _, err := b.ApplyRouter(t.Context(), "ann", r, false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", r, err, says)
		}
	}
	b.route(notify.Router{Name: "r", Events: []string{"*"}, Sinks: []string{"s"}})
	if err := b.DeleteSink(t.Context(), "ann", "s"); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("a sink that is used is deleted: %v", err)
	}
}
