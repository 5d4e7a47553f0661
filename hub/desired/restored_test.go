package desired_test

import (
	"context"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
)

// learnt is what a life learnt, in memory.
type learnt struct {
	fetched   map[string]string
	reported  map[string]desired.Applied
	declared  map[string]bool
	following map[string][]string
	former    map[string][]string
}

func (l *learnt) Fetched(context.Context, time.Time, []string) (map[string]string, error) {
	return l.fetched, nil
}

func (l *learnt) Reported(context.Context, []string) (map[string]desired.Applied, error) {
	return l.reported, nil
}

func (l *learnt) Declared(context.Context, time.Time, []string) (map[string]bool, error) {
	return l.declared, nil
}

func (l *learnt) Following(_ context.Context, id string) ([]string, error) {
	return l.following[id], nil
}

func (l *learnt) Former(context.Context, string) (map[string][]string, error) { return l.former, nil }

var (
	backup   = event.Incarnation{ID: "a", ParentID: "0"}
	failover = event.Incarnation{ID: "a", ParentID: "0", StartedAt: time.Unix(2, 0), ParentKeptAt: time.Unix(1, 0), Confirmed: true}
)

// restoredIndex has service s1 of source src with content and settings 1.
func restoredIndex(t *testing.T, life event.Incarnation, row fleet.Row, l *learnt) (*rows, *desired.Index) {
	t.Helper()
	r := newRows()
	r.life = life
	r.clusters["c1"] = fleet.ClusterRow{ID: "c1", Name: "edge-1"}
	r.services["s1"] = row
	x, err := desired.New(desired.Config{Fleet: r, Feed: r, Learnt: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, x
}

func only(t *testing.T, x *desired.Index) desired.Service {
	t.Helper()
	list, err := x.For("c1")
	if err != nil || len(list.Services) != 1 {
		t.Fatalf("got %v, %v", list.Services, err)
	}
	return list.Services[0]
}

// TestWhatIsKnownFromABackupWaits is the whole decision: what a life that began
// with less than the one before it delivers.
func TestWhatIsKnownFromABackupWaits(t *testing.T) {
	t.Parallel()
	row := service("c1", "s1", 1)
	row.SourceID = "src"
	pinned, builtin, parts := row, row, row
	pinned.Pinned, builtin.SourceID = true, ""
	parts.Parts = []fleet.Part{{SourceID: "src", Content: fleet.Content{Digest: digestOf(1)}}, {Path: "x", SourceID: "more", Content: fleet.Content{Digest: digestOf(2)}}}
	fresh, behind := map[string]string{"src": digestOf(1)}, map[string]string{"src": digestOf(9)}
	has := func(digest, spec string) map[string]desired.Applied {
		return map[string]desired.Applied{"s1": {Digest: digest, SpecDigest: spec}}
	}
	created, changed := map[string]bool{"s1": true}, map[string]bool{"s1": false}
	same, newer, nothing := has(digestOf(1), specOf(1)), has(digestOf(2), specOf(1)), has("", "")
	const free = desired.Wait(0)
	for name, test := range map[string]struct {
		life event.Incarnation
		row  fleet.Row
		know learnt
		want desired.Wait
	}{
		"an ordinary life":                     {event.Incarnation{ID: "a", Confirmed: true}, row, learnt{}, free},
		"nothing is known":                     {backup, row, learnt{}, desired.WaitReport},
		"source read, cluster silent":          {backup, row, learnt{fetched: fresh}, desired.WaitReport},
		"the cluster has it":                   {backup, row, learnt{reported: same}, free},
		"the cluster has other content":        {backup, row, learnt{reported: newer}, desired.WaitFetch},
		"content was read of upstream":         {backup, row, learnt{reported: newer, fetched: fresh}, free},
		"upstream has other content by now":    {backup, row, learnt{reported: newer, fetched: behind}, desired.WaitFetch},
		"one part was read":                    {backup, parts, learnt{reported: newer, fetched: fresh}, desired.WaitFetch},
		"other settings":                       {backup, row, learnt{reported: has(digestOf(1), specOf(2)), fetched: fresh}, desired.WaitSettings},
		"the cluster does not have it":         {backup, row, learnt{reported: nothing, fetched: fresh}, desired.WaitMissing},
		"created in this life":                 {backup, row, learnt{declared: created}, free},
		"changed in this life, source unread":  {backup, row, learnt{declared: changed, reported: newer}, desired.WaitFetch},
		"changed in this life, source read":    {backup, row, learnt{declared: changed, reported: newer, fetched: fresh}, free},
		"rolled back in this life":             {backup, pinned, learnt{declared: changed, reported: newer}, free},
		"rolled back in the backup":            {backup, pinned, learnt{reported: newer, fetched: behind}, desired.WaitSettings},
		"the agent of the backup":              {backup, builtin, learnt{reported: newer}, desired.WaitSettings},
		"fail-over, source unread":             {failover, row, learnt{}, desired.WaitFailover},
		"fail-over, source read":               {failover, row, learnt{fetched: fresh}, free},
		"fail-over, head moved, row comes yet": {failover, row, learnt{fetched: behind}, desired.WaitFailover},
		"fail-over, rolled back":               {failover, pinned, learnt{}, free},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, x := restoredIndex(t, test.life, test.row, &test.know)
			if got := only(t, x).Wait; got != test.want {
				t.Errorf("it waits for %q, wanted %q", got, test.want)
			}
		})
	}
}

// TestWaitEndsWithWhatIsLearnt checks that a fetch, a report and a person's
// confirmation each end the wait without another change of the service, and
// change the list's etag.
func TestWaitEndsWithWhatIsLearnt(t *testing.T) {
	t.Parallel()
	row := service("c1", "s1", 1)
	row.SourceID = "src"
	l := &learnt{following: map[string][]string{"repo": {"s1"}, "src": {"s1"}}}
	_, x := restoredIndex(t, backup, row, l)
	names := map[string]bool{}
	step := func(what string, want desired.Wait) {
		t.Helper()
		if got := only(t, x).Wait; got != want {
			t.Errorf("after %s it waits for %q, wanted %q", what, got, want)
		}
		tag := etag(t, x, "c1")
		if names[tag] {
			t.Errorf("after %s the list has the name of an earlier one", what)
		}
		names[tag] = true
	}
	step("the restore", desired.WaitReport)
	l.reported = map[string]desired.Applied{"s1": {Digest: digestOf(5), SpecDigest: specOf(1)}}
	apply(t, x, event.Change{Kind: event.KindReport, Key: "c1", Cluster: "c1"})
	step("a report", desired.WaitFetch)
	l.fetched = map[string]string{"src": digestOf(1)}
	apply(t, x, event.Change{Kind: event.KindRepository, Key: "repo"})
	step("a fetch", 0)

	confirmed(t, row)
}

// confirmed checks that a person's confirmation ends every wait.
func confirmed(t *testing.T, row fleet.Row) {
	t.Helper()
	r, x := restoredIndex(t, backup, row, &learnt{})
	before := etag(t, x, "c1")
	r.mu.Lock()
	r.life.Confirmed = true
	r.mu.Unlock()
	if got := only(t, x).Wait; got != 0 || etag(t, x, "c1") == before {
		t.Errorf("a confirmed restore still waits for %q", got)
	}
}
