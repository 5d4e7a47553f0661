package console_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
)

const opLimit = 90 * time.Second

// crowd is a hub with a cluster of services.
type crowd struct {
	*hubtest.Hub
	t      *testing.T
	config hubtest.Config
	client *sdk.Client
	ids    []string
}

func newCrowd(t *testing.T, services int, database string) *crowd {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	b := &crowd{t: t, config: hubtest.Config{DataDir: t.TempDir(), Hub: hubtest.HubConfig{AllowHTTPUpstreams: true, DatabaseURL: database}}}
	b.open()
	done(t)(b.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge"})))
	done(t)(b.client.Repositories.Create(t.Context(), connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: "fleet", Url: git.URL("fleet")})))
	for i := range services {
		made, err := b.client.Services.Create(t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{
			Ref: &hubv1.ServiceRef{Cluster: "edge", Name: fmt.Sprintf("web-%03d", i)}, Spec: &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "web"}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		b.ids = append(b.ids, made.Msg.GetId())
	}
	return b
}

func done(t *testing.T) func(any, error) {
	return func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// start starts the hub, again after stop.
func (b *crowd) open() {
	b.t.Helper()
	h, err := hubtest.Start(context.WithoutCancel(b.t.Context()), b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Hub = h
	b.t.Cleanup(func() { _ = h.Stop() })
	b.client = b.as(h.AdminToken)
}

func (b *crowd) as(token string) *sdk.Client {
	b.t.Helper()
	client, err := sdk.New(sdk.Config{URL: b.URL, Token: token})
	if err != nil {
		b.t.Fatal(err)
	}
	return client
}

// user returns a client of a new person with bindings on the services named.
func (b *crowd) user(name string, action string, services ...string) *sdk.Client {
	b.t.Helper()
	made, err := b.client.Users.Create(b.t.Context(), connect.NewRequest(&hubv1.CreateUserRequest{Email: name + "@example.com", TokenScopes: []string{"write"}}))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range services {
		b.bind(name, action, s)
	}
	return b.as(made.Msg.GetToken())
}

func (b *crowd) bind(name, action, service string) {
	b.t.Helper()
	done(b.t)(b.client.Bindings.Create(b.t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{
		SubjectKind: "user", Subject: name + "@example.com", Actions: []string{action}, Place: &hubv1.Place{Cluster: "edge", Service: service},
	})))
}

func begin(ctx context.Context, c *sdk.Client, r *hubv1.StartOperationRequest) (*hubv1.Operation, error) {
	o, err := c.Operations.Start(ctx, connect.NewRequest(r))
	if err != nil {
		return nil, err
	}
	return o.Msg, nil
}

// ended waits for the end of an operation.
func (b *crowd) ended(id string) *hubv1.Operation {
	b.t.Helper()
	var last *hubv1.Operation
	eventually.For(b.t, opLimit, "the end of "+id, func() error {
		o, err := b.client.Operations.Get(b.t.Context(), connect.NewRequest(&hubv1.GetOperationRequest{Id: id}))
		if err != nil {
			return err
		}
		if last = o.Msg; last.GetState() == "Running" {
			return errors.New("it runs")
		}
		return nil
	})
	return last
}

// targets reads all targets, by pages of 7.
func (b *crowd) targets(id string, failedOnly bool) (all []*hubv1.OperationTarget) {
	b.t.Helper()
	for token := ""; ; {
		page, err := b.client.Operations.ListTargets(b.t.Context(), connect.NewRequest(&hubv1.ListOperationTargetsRequest{Id: id, Limit: 7, PageToken: token, FailedOnly: failedOnly}))
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, page.Msg.GetTargets()...)
		if token = page.Msg.GetNextPageToken(); token == "" {
			return all
		}
	}
}

func (b *crowd) paused() (n int) {
	b.t.Helper()
	list, err := b.client.Services.List(b.t.Context(), connect.NewRequest(&hubv1.ListServicesRequest{PageSize: 500}))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, s := range list.Msg.GetServices() {
		if s.GetPaused() {
			n++
		}
	}
	return n
}

// events returns the events of a kind, by service.
func (b *crowd) events(kind string) map[string][]*hubv1.Event {
	b.t.Helper()
	all := map[string][]*hubv1.Event{}
	list, err := b.client.Events.List(b.t.Context(), connect.NewRequest(&hubv1.ListEventsRequest{Limit: 1000}))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range list.Msg.GetEvents() {
		if e.GetKind() == kind {
			all[e.GetObject()] = append(all[e.GetObject()], e)
		}
	}
	return all
}

func onBothStores(t *testing.T, test func(t *testing.T, database string)) {
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); test(t, "") })
	t.Run("Postgres", func(t *testing.T) { t.Parallel(); test(t, hubtest.Postgres(t)) })
}

func TestOperationChangesManyServices(t *testing.T) {
	onBothStores(t, func(t *testing.T, database string) {
		b := newCrowd(t, 120, database)
		dry, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "pause", ServiceIds: b.ids, DryRun: true, Expected: 120})
		if err != nil || dry.GetState() != "DryRun" || dry.GetTotal() != 120 || len(dry.GetExamples()) != 20 || dry.GetExamples()[0] != "edge/web-000" || b.paused() != 0 {
			t.Fatalf("dry run: %v %v", dry, err)
		}
		o, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "pause", ServiceIds: append(b.ids, b.ids[0]), Reason: "a freeze"})
		if err != nil {
			t.Fatal(err)
		}
		if o = b.ended(o.GetId()); o.GetState() != "Done" || o.GetDone() != 120 || o.GetTotal() != 120 || b.paused() != 120 {
			t.Fatalf("ended as %v with %d paused", o, b.paused())
		}
		events := b.events("service.paused")
		if len(events) != 120 {
			t.Errorf("%d services have events", len(events))
		}
		for object, of := range events {
			if len(of) != 1 || of[0].GetBy() != hubtest.Admin || of[0].GetMessage() != "a freeze; operation "+o.GetId() {
				t.Errorf("%s: %v", object, of)
			}
		}
		// A paused service is not synced: all fail but the one that was resumed.
		done(t)(b.client.Services.Resume(t.Context(), connect.NewRequest(&hubv1.ResumeServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge", Name: "web-007"}})))
		synced, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "sync", ServiceIds: b.ids})
		if err != nil {
			t.Fatal(err)
		}
		if synced = b.ended(synced.GetId()); synced.GetState() != "Failed" || synced.GetDone() != 1 || synced.GetFailed() != 119 {
			t.Fatalf("ended as %v", synced)
		}
		all, failed := b.targets(synced.GetId(), false), b.targets(synced.GetId(), true)
		if len(all) != 120 || len(failed) != 119 || all[119].GetService() != "web-007" || !strings.Contains(all[0].GetMessage(), "is paused; resume it first") {
			t.Errorf("%d targets, %d failed, the last is %v", len(all), len(failed), all[len(all)-1])
		}
		retried, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "resume", FailedOf: synced.GetId()})
		if err != nil || retried.GetTotal() != 119 {
			t.Fatalf("%v %v", retried, err)
		}
		if retried = b.ended(retried.GetId()); retried.GetState() != "Done" || b.paused() != 0 {
			t.Errorf("ended as %v with %d paused", retried, b.paused())
		}
		list, err := b.client.Operations.List(t.Context(), connect.NewRequest(&hubv1.ListOperationsRequest{Limit: 2}))
		if err != nil || len(list.Msg.GetOperations()) != 2 || list.Msg.GetOperations()[0].GetId() != retried.GetId() {
			t.Fatalf("%v %v", list, err)
		}
		rest, err := b.client.Operations.List(t.Context(), connect.NewRequest(&hubv1.ListOperationsRequest{After: list.Msg.GetOperations()[1].GetId()}))
		if err != nil || len(rest.Msg.GetOperations()) != 1 || rest.Msg.GetOperations()[0].GetId() != o.GetId() {
			t.Errorf("%v %v", rest, err)
		}
		eventually.For(t, opLimit, "the records", func() error {
			audit, err := b.client.Audit.List(t.Context(), connect.NewRequest(&hubv1.ListAuditRequest{Action: "Operations/Start"}))
			if err != nil {
				return err
			}
			if n := len(audit.Msg.GetRecords()); n != 4 || !slices.ContainsFunc(audit.Msg.GetRecords(), func(r *hubv1.AuditRecord) bool { return strings.Contains(r.GetRecord(), `"reason":"a freeze"`) }) {
				return fmt.Errorf("%d records: %v", n, audit.Msg.GetRecords())
			}
			return nil
		})
	})
}

// A filter selects what the same filter shows in the console's list, of what the
// caller may read.
func TestOperationSelectsByFilter(t *testing.T) {
	b := newCrowd(t, 30, "")
	filter := &hubv1.ServiceFilter{Text: "web-00 !web-003", Cluster: []string{"edge"}}
	eventually.For(t, opLimit, "the list shows it", func() error {
		list, err := b.client.Fleet.QueryServices(t.Context(), connect.NewRequest(&hubv1.QueryServicesRequest{Filter: filter}))
		if err == nil && list.Msg.GetTotal() != 9 {
			err = fmt.Errorf("it shows %d", list.Msg.GetTotal())
		}
		return err
	})
	ann := b.user("ann", "write", "web-001", "web-003", "web-020")
	b.bind("ann", "read", "web-002")
	dry, err := begin(t.Context(), ann, &hubv1.StartOperationRequest{Action: "pause", Filter: filter, DryRun: true})
	if err != nil || dry.GetTotal() != 2 || dry.GetForbidden() != 1 {
		t.Errorf("of what she reads: %v %v", dry, err)
	}
	if _, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "pause", Filter: &hubv1.ServiceFilter{Sync: []string{"Nonsense"}}}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("a filter that is none: %v", err)
	}
	o, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "pause", Filter: filter, Expected: 9})
	if err != nil {
		t.Fatal(err)
	}
	if o = b.ended(o.GetId()); o.GetState() != "Done" || o.GetDone() != 9 || b.paused() != 9 || o.GetSelection() != "text web-00 !web-003, cluster edge" {
		t.Errorf("ended as %v with %d paused", o, b.paused())
	}
}

func TestOperationChecksEveryServiceFirst(t *testing.T) {
	b := newCrowd(t, 12, "")
	ann := b.user("ann", "write", "web-000", "web-001")
	b.bind("ann", "read", "web-002")
	ids := func(n ...int) (out []string) {
		for _, i := range n {
			out = append(out, b.ids[i])
		}
		return out
	}
	hundred := make([]string, 1001)
	synced, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "sync", ServiceIds: ids(3)})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		request *hubv1.StartOperationRequest
		code    errcode.Code
		says    string
	}{
		"one is not hers":          {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0, 1, 2)}, errcode.Forbidden, "nothing was done: 1 of 3 services are not yours to change; the first: edge/web-002"},
		"one she does not see":     {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0, 5)}, errcode.NotFound, "does not exist"},
		"one that is not there":    {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: []string{"svc-none"}}, errcode.NotFound, "does not exist"},
		"another's operation":      {&hubv1.StartOperationRequest{Action: "pause", FailedOf: synced.GetId()}, errcode.NotFound, "does not exist"},
		"an unknown action":        {&hubv1.StartOperationRequest{Action: "delete", ServiceIds: ids(0)}, errcode.Invalid, "use sync, pause, resume or rollback"},
		"nothing":                  {&hubv1.StartOperationRequest{Action: "pause"}, errcode.Invalid, "in one way"},
		"two ways":                 {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0), FailedOf: "x"}, errcode.NotFound, "does not exist"},
		"too many names":           {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: hundred}, errcode.Invalid, "at most 1000"},
		"others than she saw":      {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0, 1), Expected: 3}, errcode.Conflict, "2 services are selected now, and 3 were shown"},
		"fewer than she saw":       {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0, 1), Expected: 1}, errcode.Conflict, "were shown"},
		"a reason of many lines":   {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0), Reason: "a\nb"}, errcode.Invalid, "one line"},
		"a reason that is a novel": {&hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0), Reason: strings.Repeat("a", 501)}, errcode.Invalid, "at most 500"},
	} {
		if _, err := begin(t.Context(), ann, test.request); !errcode.Is(err, test.code) || !strings.Contains(fmt.Sprint(err), test.says) {
			t.Errorf("%s: %v, want %s and %q", name, err, test.code, test.says)
		}
	}
	if n := b.paused(); n != 0 {
		t.Errorf("%d services were paused", n)
	}
	dry, err := begin(t.Context(), ann, &hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0, 1, 2), DryRun: true})
	if err != nil || dry.GetTotal() != 3 || dry.GetForbidden() != 1 {
		t.Errorf("dry run: %v %v", dry, err)
	}
	mine, err := begin(t.Context(), ann, &hubv1.StartOperationRequest{Action: "pause", ServiceIds: ids(0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	b.ended(mine.GetId())
	list, err := ann.Operations.List(t.Context(), connect.NewRequest(&hubv1.ListOperationsRequest{}))
	if err != nil || len(list.Msg.GetOperations()) != 1 || list.Msg.GetOperations()[0].GetId() != mine.GetId() {
		t.Errorf("she sees %v %v", list, err)
	}
}

// What was taken away meanwhile holds for the rest.
func TestOperationEndsWithTheRightOfItsPerson(t *testing.T) {
	for name, take := range map[string]struct {
		away func(b *crowd, ann *sdk.Client)
		says string
	}{
		"the right": {func(b *crowd, _ *sdk.Client) {
			done(b.t)(b.client.Bindings.Delete(b.t.Context(), connect.NewRequest(&hubv1.DeleteBindingRequest{
				SubjectKind: "user", Subject: "ann@example.com", Actions: []string{"write"}, Place: &hubv1.Place{Cluster: "edge"},
			})))
		}, "may not write here"},
		"the token": {func(b *crowd, ann *sdk.Client) {
			who, err := ann.Sessions.WhoAmI(b.t.Context(), connect.NewRequest(&hubv1.WhoAmIRequest{}))
			if err != nil {
				b.t.Fatal(err)
			}
			done(b.t)(b.client.Tokens.Revoke(b.t.Context(), connect.NewRequest(&hubv1.RevokeTokenRequest{Id: who.Msg.GetTokenId()})))
		}, "token"},
		"the account": {func(b *crowd, _ *sdk.Client) {
			done(b.t)(b.client.Users.Delete(b.t.Context(), connect.NewRequest(&hubv1.DeleteUserRequest{Name: "ann@example.com"})))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCrowd(t, 300, "")
			ann := b.user("ann", "write")
			done(t)(b.client.Bindings.Create(t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{SubjectKind: "user", Subject: "ann@example.com", Actions: []string{"write"}, Place: &hubv1.Place{Cluster: "edge"}})))
			o, err := begin(t.Context(), ann, &hubv1.StartOperationRequest{Action: "pause", ServiceIds: b.ids})
			if err != nil {
				t.Fatal(err)
			}
			take.away(b, ann)
			o = b.ended(o.GetId())
			if o.GetState() != "Failed" || o.GetFailed() == 0 || o.GetDone()+o.GetFailed() != 300 || int64(b.paused()) != o.GetDone() {
				t.Errorf("ended as %v with %d paused", o, b.paused())
			}
			if failed := b.targets(o.GetId(), true); !strings.Contains(failed[len(failed)-1].GetMessage(), take.says) {
				t.Errorf("the last failed with %q", failed[len(failed)-1].GetMessage())
			}
		})
	}
}

// A hub that stops in the middle goes on after the next start, and does nothing
// twice.
func TestOperationGoesOnAfterAStop(t *testing.T) {
	onBothStores(t, func(t *testing.T, database string) {
		b := newCrowd(t, 300, database)
		o, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "pause", ServiceIds: b.ids})
		if err != nil {
			t.Fatal(err)
		}
		eventually.For(t, opLimit, "some are done", func() error {
			now, err := b.client.Operations.Get(t.Context(), connect.NewRequest(&hubv1.GetOperationRequest{Id: o.GetId()}))
			if err == nil && now.Msg.GetDone() == 0 {
				err = errors.New("none is")
			}
			return err
		})
		if err := b.Stop(); err != nil {
			t.Fatal(err)
		}
		b.config.AdminToken = b.AdminToken
		b.open()
		if o = b.ended(o.GetId()); o.GetState() != "Done" || o.GetDone() != 300 || b.paused() != 300 {
			t.Fatalf("ended as %v with %d paused", o, b.paused())
		}
		for object, of := range b.events("service.paused") {
			if len(of) != 1 {
				t.Errorf("%s was paused %d times", object, len(of))
			}
		}
	})
}

func TestOperationIsCancelled(t *testing.T) {
	b := newCrowd(t, 300, "")
	var first *hubv1.Operation
	for i := range 5 {
		o, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: []string{"pause", "resume"}[i%2], ServiceIds: b.ids})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = o
		}
	}
	if _, err := begin(t.Context(), b.client, &hubv1.StartOperationRequest{Action: "pause", ServiceIds: b.ids}); !errcode.Is(err, errcode.Exhausted) || !strings.Contains(fmt.Sprint(err), "5 operations of yours are running") {
		t.Errorf("the sixth: %v", err)
	}
	cancelled, err := b.client.Operations.Cancel(t.Context(), connect.NewRequest(&hubv1.CancelOperationRequest{Id: first.GetId()}))
	if err != nil || cancelled.Msg.GetState() != "Cancelled" {
		t.Fatalf("%v %v", cancelled, err)
	}
	states := map[string]int64{}
	for _, target := range b.targets(first.GetId(), false) {
		states[target.GetState()]++
	}
	o := b.ended(first.GetId())
	if states["Waiting"] != 0 || states["Cancelled"] == 0 || states["Done"] != o.GetDone() || states["Done"]+states["Cancelled"] != 300 {
		t.Errorf("%v of %v", states, o)
	}
	if _, err := b.client.Operations.Cancel(t.Context(), connect.NewRequest(&hubv1.CancelOperationRequest{Id: first.GetId()})); !errcode.Is(err, errcode.Conflict) {
		t.Errorf("again: %v", err)
	}
}
