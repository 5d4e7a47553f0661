package watch_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/fleet/watch"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

const limit = 30 * time.Second

// fake is a replica that a test moves. Real ones are watched in hub/console.
type fake struct {
	mu       sync.Mutex
	looks    int
	position event.Position
	caller   error
	reach    identity.Reach
	moments  map[string]index.Moment
	// degraded are what a list of services has, many what it has at the beginning beside.
	degraded map[string]bool
	many     []string
}

func (*fake) ServicesByID(ids []string, _ identity.Reach) ([]string, error) { return ids, nil }
func (*fake) ClustersByID(ids []string, _ identity.Reach) (hits []index.ClusterHit, _ error) {
	for _, id := range ids {
		hits = append(hits, index.ClusterHit{ID: id})
	}
	return hits, nil
}
func (f *fake) Moments() map[string]index.Moment {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.moments)
}
func (*fake) ClustersOf(services []string) map[string]string {
	of := map[string]string{}
	for _, id := range services {
		of[id] = "cls_" + id
	}
	return of
}
func (f *fake) ServicesOf(clusters map[string]bool) (services []string) {
	for id := range clusters {
		services = append(services, strings.TrimPrefix(id, "cls_"))
	}
	return services
}
func (f *fake) MatchServices(_ index.ServiceFilter, ids []string, _ identity.Reach) (matching []string, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.degraded {
		if ids == nil || slices.Contains(ids, id) {
			matching = append(matching, id)
		}
	}
	slices.Sort(matching)
	if ids == nil {
		matching = append(matching, f.many...)
	}
	return matching, nil
}
func (*fake) MatchClusters(index.ClusterFilter, []string, identity.Reach) ([]index.ClusterHit, error) {
	return nil, nil
}
func (f *fake) Position() event.Position                    { return f.position }
func (*fake) WaitFor(context.Context, event.Position) error { return nil }
func (f *fake) Caller(context.Context, string) (identity.Principal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	return identity.Principal{Kind: identity.KindUser, ID: "usr_1"}, f.caller
}
func (f *fake) Reach(context.Context, identity.Principal, identity.Action) (identity.Reach, error) {
	return f.reach, nil
}

// set changes the replica.
func (f *fake) set(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
}

type watched struct {
	*fake
	*watch.Streams
	clock *clock.Manual
}

func newWatched() *watched {
	f, c := &fake{reach: identity.All, position: event.Position{Incarnation: "a", Sequence: 7}}, clock.NewManual(time.Unix(1, 0))
	return &watched{f, watch.New(watch.Config{Index: f, Feed: f, Identity: f, Clock: c}), c}
}

func (w *watched) open(t *testing.T, topics watch.Topics) *watch.Stream {
	t.Helper()
	s, err := w.Open(t.Context(), identity.Principal{Kind: identity.KindUser, ID: "usr_1", TokenID: "tok_1"}, topics, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// next reads the next batch while the clock moves in small steps, and returns it with
// how long that took by the clock.
func (w *watched) next(t *testing.T, s *watch.Stream, step time.Duration) (watch.Batch, time.Duration) {
	t.Helper()
	type answer struct {
		watch.Batch
		error
	}
	done, began := make(chan answer, 1), w.clock.Now()
	go func() {
		b, err := s.Next(t.Context())
		done <- answer{b, err}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		select {
		case a := <-done:
			if a.error != nil {
				t.Fatal(a.error)
			}
			return a.Batch, w.clock.Now().Sub(began)
		default:
		}
		// Only once the stream waits does the clock move.
		if n, _ := w.clock.Waiting(); n > 0 {
			w.clock.Advance(step)
		} else if err := ctx.Err(); err != nil {
			t.Fatal("nothing comes")
		}
		if err := ctx.Err(); err != nil {
			t.Fatal("nothing comes")
		}
	}
}

func TestAStreamSendsAtMostFourBatchesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{reach: identity.All}
		w := &watched{fake: f, Streams: watch.New(watch.Config{Index: f, Feed: f, Identity: f, Clock: clock.Real{}})}
		s := w.open(t, watch.Topics{Services: []string{"one", "two"}, Hints: []string{"services"}})
		for range 3 {
			began := time.Now()
			// However often something changes, it is told once.
			for range 100 {
				w.Changed(index.Change{Services: []string{"one", "elsewhere"}, Hints: []string{"services", "fleet"}})
			}
			b, err := s.Next(t.Context())
			if took := time.Since(began); err != nil || !slices.Equal(b.Services, []string{"one"}) || !slices.Equal(b.Hints, []string{"services"}) || took != 250*time.Millisecond {
				t.Errorf("after %s: %+v %v", took, b, err)
			}
		}
	})
}

func TestASilentStreamBeatsEachFifteenSeconds(t *testing.T) {
	w := newWatched()
	s := w.open(t, watch.Topics{Services: []string{"one"}})
	w.position.Sequence = 9
	w.Changed(index.Change{Services: []string{"elsewhere"}, Hints: []string{"services"}})
	b, took := w.next(t, s, 100*time.Millisecond)
	if len(b.Services)+len(b.Hints)+len(b.Gone) != 0 || b.At.Sequence != 9 || took < 14*time.Second || took > 16*time.Second {
		t.Errorf("after %s: %+v", took, b)
	}
}

// A reader that reads nothing holds nobody up, and holds no more than its topics.
func TestASlowReaderHoldsNothingUp(t *testing.T) {
	w := newWatched()
	var many []string
	for i := range watch.MaxTopics {
		many = append(many, fmt.Sprintf("svc_%04d", i))
	}
	s := w.open(t, watch.Topics{Services: many})
	for i := range 20_000 {
		w.Changed(index.Change{Services: []string{many[i%len(many)], fmt.Sprint("other_", i)}, Hints: []string{"services"}, Scopes: []identity.Scope{{Project: "prj_1"}}})
	}
	if b, _ := w.next(t, s, 10*time.Millisecond); len(b.Services) != watch.MaxTopics {
		t.Errorf("%d services", len(b.Services))
	}
}

// Who may read a part of the fleet gets a hint when that part changed.
func TestHintsAreOfWhatTheCallerMayRead(t *testing.T) {
	w := newWatched()
	w.reach = identity.Reach{Projects: []string{"prj_mine"}}
	s := w.open(t, watch.Topics{Hints: []string{"services"}})
	w.Changed(index.Change{Hints: []string{"services"}, Scopes: []identity.Scope{{Project: "prj_other"}}})
	if b, took := w.next(t, s, 100*time.Millisecond); len(b.Hints) != 0 || took < 14*time.Second {
		t.Errorf("after %s: the hint %v is of another's project", took, b.Hints)
	}
	w.Changed(index.Change{Hints: []string{"services"}, Scopes: []identity.Scope{{Project: "prj_other"}, {Project: "prj_mine"}}})
	if b, _ := w.next(t, s, 10*time.Millisecond); len(b.Hints) != 1 {
		t.Errorf("no hint of a change of one's own: %+v", b)
	}
}

// A page is read before its topics are here: a change between the two is told to it.
func TestAChangeBeforeAHintIsAskedForIsTold(t *testing.T) {
	w := newWatched()
	mine, other := []identity.Scope{{Project: "prj_mine"}}, []identity.Scope{{Project: "prj_other"}}
	open := func(hints ...string) (*watch.Stream, []string) {
		t.Helper()
		s, err := w.Open(t.Context(), identity.Principal{Kind: identity.KindUser, ID: "usr_1", TokenID: "tok_1"}, watch.Topics{Hints: hints}, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		b, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s, b.Hints
	}
	w.reach = identity.Reach{Projects: []string{"prj_mine"}}
	w.Changed(index.Change{Hints: []string{"operations", "fleet"}, Scopes: mine})
	w.Changed(index.Change{Hints: []string{"rollouts"}, Scopes: other})
	s, told := open("operations", "rollouts")
	if !slices.Equal(told, []string{"operations"}) {
		t.Errorf("a new stream is told %v", told)
	}
	asks := func(hints ...string) {
		t.Helper()
		if err := w.SetTopics(t.Context(), identity.Principal{Kind: identity.KindUser, ID: "usr_1"}, s.ID, watch.Topics{Hints: hints}); err != nil {
			t.Fatal(err)
		}
	}
	asks("operations", "fleet")
	if b, _ := w.next(t, s, 10*time.Millisecond); !slices.Equal(b.Hints, []string{"fleet"}) {
		t.Errorf("told %+v", b)
	}
	// What was of another's project a moment ago is told no more than it was then: the
	// next batch is a heartbeat.
	asks("operations", "fleet", "rollouts")
	if b, _ := w.next(t, s, 100*time.Millisecond); len(b.Hints) != 0 {
		t.Errorf("told %+v", b)
	}
	if _, told = open("operations", "fleet"); len(told) != 0 {
		t.Errorf("told of what was long ago: %v", told)
	}
	// Whoever may read any of many changes is told of them.
	for range 1000 {
		w.Changed(index.Change{Hints: []string{"services"}, Scopes: other})
	}
	w.Changed(index.Change{Hints: []string{"services"}, Scopes: mine})
	if _, told = open("services"); len(told) != 1 {
		t.Error("a change among a thousand is lost")
	}
}

// running runs the streams' own work, and returns a function that ends it.
func (w *watched) running(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// pass lets the streams' own work look at them so often; it does so once a second.
func (w *watched) pass(t *testing.T, times int) {
	t.Helper()
	for range times {
		before := w.looked()
		eventually.For(t, limit, "the streams are looked at", func() error {
			if w.looked() > before {
				return nil
			}
			w.clock.Advance(time.Second)
			return errors.New("not yet")
		})
	}
}

func (f *fake) looked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.looks
}

func TestFreshnessIsToldWithoutARowOfTheFeed(t *testing.T) {
	w := newWatched()
	w.moments = map[string]index.Moment{"cls_one": {Freshness: fleet.Fresh}, "cls_two": {Freshness: fleet.Fresh}}
	s := w.open(t, watch.Topics{Services: []string{"one", "two"}, Clusters: []string{"cls_one"}})
	w.running(t)
	w.set(func() { w.moments["cls_one"] = index.Moment{Freshness: fleet.Stale} })
	told := make(chan watch.Batch, 1)
	go func() {
		for {
			b, err := s.Next(t.Context())
			if err != nil || len(b.Clusters) > 0 {
				told <- b
				return
			}
		}
	}()
	for range 12 {
		w.pass(t, 1)
	}
	select {
	case b := <-told:
		if !slices.Equal(b.Services, []string{"one"}) || len(b.Clusters) != 1 {
			t.Errorf("told %+v", b)
		}
	case <-time.After(limit):
		t.Error("nothing is told")
	}
}

func TestStreamsEndWithTheirTokenAndWithTheHub(t *testing.T) {
	w := newWatched()
	stop := w.running(t)
	s := w.open(t, watch.Topics{})
	w.set(func() { w.caller = errcode.New(errcode.Unavailable, "the database does not answer") })
	w.pass(t, 3)
	w.set(func() { w.caller = nil })
	ended := make(chan error, 1)
	go func() {
		_, err := s.Next(t.Context())
		ended <- err
	}()
	w.pass(t, 2)
	select {
	case err := <-ended:
		t.Fatalf("a database that does not answer ended a stream: %v", err)
	default:
	}
	w.set(func() { w.caller = errcode.New(errcode.Unauthorized, "revoked") })
	w.pass(t, 1)
	if err := <-ended; !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("got %v", err)
	}
	w.set(func() { w.caller = nil })
	s = w.open(t, watch.Topics{})
	go func() {
		_, err := s.Next(t.Context())
		ended <- err
	}()
	stop()
	if err := <-ended; !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("got %v", err)
	}
	if _, err := w.Open(t.Context(), identity.Principal{}, watch.Topics{}, ""); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("a hub that stops opens a stream: %v", err)
	}
}

// A list sends what is new, what changed and what it no longer has, of all that changes
// in the fleet nothing else, and nothing at the beginning.
func TestAListIsFollowed(t *testing.T) {
	w := newWatched()
	w.degraded = map[string]bool{"one": true, "two": true}
	s := w.open(t, watch.Topics{ServiceList: &index.ServiceFilter{Health: []string{"Degraded"}}})
	w.set(func() { w.degraded = map[string]bool{"two": true, "three": true} })
	w.Changed(index.Change{Services: []string{"one", "two", "three", "elsewhere"}})
	b, _ := w.next(t, s, 10*time.Millisecond)
	if !slices.Equal(b.ServiceList, []string{"three", "two"}) || !slices.Equal(b.Gone, []string{"one"}) || b.Again {
		t.Errorf("got %+v", b)
	}
	// What it never had is not gone, and what is gone is so once.
	w.Changed(index.Change{Services: []string{"one", "elsewhere"}})
	if b, took := w.next(t, s, 100*time.Millisecond); len(b.ServiceList)+len(b.Gone) != 0 || took < 14*time.Second {
		t.Errorf("after %s: %+v", took, b)
	}
}

// Many changes come in several batches of a bounded size, and too many as the request to
// read the list again.
func TestABatchOfAListIsBounded(t *testing.T) {
	w := newWatched()
	w.degraded = map[string]bool{}
	var many []string
	for i := range 2*watch.MaxRows + 50 {
		many = append(many, fmt.Sprintf("svc_%04d", i))
	}
	s := w.open(t, watch.Topics{ServiceList: &index.ServiceFilter{}})
	w.set(func() {
		for _, id := range many {
			w.degraded[id] = true
		}
	})
	w.Changed(index.Change{Services: many})
	var got []string
	for range 3 {
		b, _ := w.next(t, s, 10*time.Millisecond)
		if len(b.ServiceList) > watch.MaxRows || b.Again {
			t.Fatalf("a batch has %d rows, again %v", len(b.ServiceList), b.Again)
		}
		got = append(got, b.ServiceList...)
	}
	if slices.Sort(got); !slices.Equal(got, many) {
		t.Errorf("%d rows of %d", len(got), len(many))
	}
	for i := range 11_000 {
		w.Changed(index.Change{Services: []string{fmt.Sprint("other_", i)}})
	}
	if b, _ := w.next(t, s, 10*time.Millisecond); !b.Again || len(b.ServiceList) != 0 {
		t.Errorf("got %+v", b)
	}
	w.Changed(index.Change{All: true})
	if b, _ := w.next(t, s, 10*time.Millisecond); !b.Again {
		t.Errorf("after everything changed: %+v", b)
	}
	// Other rights select other rows.
	w.set(func() { w.reach = identity.Reach{Projects: []string{"prj_mine"}} })
	w.Changed(index.Change{Services: []string{"elsewhere"}})
	if b, _ := w.next(t, s, 10*time.Millisecond); !b.Again {
		t.Errorf("with other rights: %+v", b)
	}
}

// Streams hold rows of lists up to a limit of the replica, of which a caller has a share.
// What a stream held is free when it ends.
func TestListsOfAllStreamsAreBounded(t *testing.T) {
	w := newWatched()
	for i := range 400_000 {
		w.many = append(w.many, strconv.Itoa(i))
	}
	open := func(caller string) (*watch.Stream, error) {
		list := watch.Topics{ServiceList: &index.ServiceFilter{}}
		return w.Open(t.Context(), identity.Principal{Kind: identity.KindUser, ID: caller}, list, "")
	}
	refused := func(caller, want string) {
		t.Helper()
		if _, err := open(caller); !errcode.Is(err, errcode.Exhausted) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", caller, err, want)
		}
	}
	opened := func(caller string) *watch.Stream {
		t.Helper()
		s, err := open(caller)
		if err != nil {
			t.Fatalf("%s: %v", caller, err)
		}
		t.Cleanup(s.Close)
		return s
	}
	first := opened("usr_1")
	refused("usr_1", "rows of lists that streams follow is 500000 now, and you have 400000")
	for _, other := range []string{"usr_2", "usr_3"} {
		opened(other)
	}
	refused("usr_6", "is 300000 now, and you have 0")
	first.Close()
	opened("usr_6")
}
