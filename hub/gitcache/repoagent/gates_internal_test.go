package repoagent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

func TestHostOf(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://Git.example.com/a/b.git": "git.example.com", "ssh://git@git.example.com:22/a": "git.example.com", "git@git.example.com:a/b.git": "git.example.com",
		"http://git.example.com:80/": "git.example.com", "https://git.example.com:8443/": "git.example.com:8443", "oci://ghcr.io/acme": "ghcr.io", "s3://bucket": "bucket", "nonsense": "",
	} {
		if got := HostOf(raw); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// upstream is a host that records when it was contacted.
type upstream struct {
	mu    sync.Mutex
	down  bool
	asked []time.Time
}

func (u *upstream) ask() error {
	u.mu.Lock()
	u.asked = append(u.asked, time.Now())
	down := u.down
	u.mu.Unlock()
	<-time.After(100 * time.Millisecond)
	if down {
		return errcode.New(errcode.Unavailable, "away")
	}
	return nil
}

func (u *upstream) since(t time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, at := range u.asked {
		if !at.Before(t) {
			n++
		}
	}
	return n
}

func (u *upstream) set(down bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down = down
}

// agents run until the test ends.
func agents(ctx context.Context, n int, gates *Gates, u *upstream) []*Scheduler {
	out := make([]*Scheduler, n)
	for i := range out {
		p := newScheduler(schedule{Clock: clock.Real{}, Gap: 5 * time.Second, Poll: 2 * time.Minute, Spread: time.Minute})
		out[i] = p
		go func() {
			_ = p.run(ctx, only(func(ctx context.Context, urgent bool) error {
				leave, err := gates.Enter(ctx, Turn{Host: "h", Urgent: urgent})
				if err != nil {
					return err
				}
				err = u.ask()
				leave(err)
				return err
			}))
		}()
	}
	return out
}

// TestAFailingHostIsAskedLessAndLess checks that six repositories of a failing
// host contact it less and less, whatever triggers them: new sources, the
// agents' own reasons, restarts of nothing. A person's kick is served at once,
// four times and then every 15 s for each repository and for the host, and does
// not change any poll. When the host is back, all are served within the time of
// a poll and a half.
func TestAFailingHostIsAskedLessAndLess(t *testing.T) {
	for name, tt := range map[string]struct {
		kick      bool
		per10, at map[int]int // at most so many in the n-th 10 minutes
	}{
		"triggers":           {false, map[int]int{0: 30, 1: 12, 2: 12, 5: 12}, nil},
		"triggers and kicks": {true, map[int]int{0: 75, 1: 60, 2: 60, 5: 60}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				u := &upstream{down: true}
				all := agents(ctx, 6, NewGates(clock.Real{}, nil), u)
				began := time.Now()
				for time.Since(began) < time.Hour {
					<-time.After(time.Second)
					for _, p := range all {
						p.SourcesChanged()
						p.Again()
						if tt.kick {
							p.Kick()
						}
					}
				}
				for n, most := range tt.per10 {
					from := began.Add(time.Duration(n) * 10 * time.Minute)
					if got := u.since(from) - u.since(from.Add(10*time.Minute)); got > most {
						t.Errorf("asked %d times in the minutes %d to %d, want at most %d", got, n*10, n*10+10, most)
					}
				}
				u.set(false)
				back := time.Now()
				<-time.After(15 * time.Minute)
				if n := u.since(back); n < 6*4 {
					t.Errorf("asked %d times in the quarter of an hour after it was back", n)
				}
				cancel()
				<-time.After(time.Second) // who asks just now still does
				synctest.Wait()
			})
		})
	}
}

// TestAGateIsFairAndBounded checks the number of concurrent requests, that
// first copies leave room, that urgent requests go first, and that a closed
// host refuses all at once, except for one test request.
func TestAGateIsFairAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGates(clock.Real{}, nil)
		ctx := t.Context()
		n := 0
		enter := func(turn Turn) func(error) {
			t.Helper()
			n++
			turn.Caller.Name = fmt.Sprint(n)
			leave, err := g.Enter(ctx, turn)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		var bulk, rest []func(error)
		for range bulkPerHost {
			bulk = append(bulk, enter(Turn{Host: "h", Bulk: true}))
		}
		order := make(chan string, 100)
		var said error
		wait := func(what string, turn Turn) {
			go func() {
				leave, err := g.Enter(ctx, turn)
				if err != nil {
					order <- what + " refused"
					return
				}
				order <- what
				leave(said)
			}()
			synctest.Wait()
		}
		wait("bulk", Turn{Host: "h", Bulk: true})
		for range perHost - bulkPerHost {
			rest = append(rest, enter(Turn{Host: "h"}))
		}
		wait("poll", Turn{Host: "h"})
		wait("urgent", Turn{Host: "h", Urgent: true})
		if len(order) != 0 {
			t.Fatalf("%s entered a gate that is full", <-order)
		}
		gone, cancel := context.WithCancel(ctx)
		left := make(chan error, 1)
		go func() {
			_, err := g.Enter(gone, Turn{Host: "h"})
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("who went away heard %v", err)
		}
		rest[0](nil)
		synctest.Wait()
		if a, b := <-order, <-order; a != "urgent" || b != "poll" || len(order) != 0 {
			t.Errorf("entered: %s, %s, and %d more", a, b, len(order))
		}
		bulk[0](nil)
		synctest.Wait()
		if a := <-order; a != "bulk" {
			t.Errorf("entered: %s", a)
		}
		rest = append(rest, enter(Turn{Host: "h"}), enter(Turn{Host: "h"}))
		said = errcode.New(errcode.Unavailable, "away")
		for i := range 5 {
			wait(fmt.Sprint("late ", i), Turn{Host: "h"})
		}
		for _, leave := range rest[1:4] {
			leave(errcode.New(errcode.Unavailable, "away"))
		}
		synctest.Wait()
		refused := 0
		for range 5 {
			if a := <-order; a[len(a)-1] == 'd' {
				refused++
			}
		}
		if _, err := g.Enter(ctx, Turn{Host: "h"}); !errors.Is(err, ErrClosed) || errcode.RetryAfter(err) <= 0 || refused == 0 {
			t.Errorf("a closed host: %v, %d were refused", err, refused)
		}
		// Elsewhere nothing is wrong.
		enter(Turn{Host: "other"})(nil)
		for _, leave := range append(bulk[1:], rest[4:]...) {
			leave(errcode.New(errcode.Unavailable, "away"))
		}
		<-time.After(maxClosed)
		probe := enter(Turn{Host: "h"})
		if _, err := g.Enter(ctx, Turn{Host: "h"}); !errors.Is(err, ErrClosed) {
			t.Errorf("a second one finds out: %v", err)
		}
		probe(nil)
		enter(Turn{Host: "h"})(nil)
		if len(g.hosts) != 0 || g.all.requests.Used()+g.all.bulk.Used() != 0 {
			t.Errorf("left over: %v, %d", g.hosts, g.all.requests.Used())
		}
	})
}

// TestSlowHostsHoldOnlyTheirProject holds that a project whose hosts do not answer delays no
// request of another project, whether to the same host or to one of its own.
func TestSlowHostsHoldOnlyTheirProject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGates(clock.Real{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		inside := 0
		for n := range 4 * overall {
			go func() {
				leave, err := g.Enter(ctx, Turn{Host: fmt.Sprint("slow-", n%3), Bulk: n%2 == 0, Caller: pool.Caller{Name: fmt.Sprint(n), Project: "tenant"}})
				if err == nil {
					inside++
					<-ctx.Done()
					leave(nil)
				}
			}()
			synctest.Wait()
		}
		if inside != overall/2 {
			t.Errorf("a project has %d of %d requests", inside, overall)
		}
		for _, turn := range []Turn{{Host: "slow-0"}, {Host: "slow-0", Bulk: true}, {Host: "fast"}, {Host: "fast", Bulk: true}} {
			turn.Caller = pool.Caller{Name: "web", Project: "others"}
			within, late := context.WithTimeout(ctx, time.Second)
			leave, err := g.Enter(within, turn)
			late()
			if err != nil {
				t.Errorf("another project's request to %s, a first copy: %v: %v", turn.Host, turn.Bulk, err)
				continue
			}
			leave(nil)
		}
		cancel()
		synctest.Wait()
		if len(g.hosts) != 0 || g.all.requests.Used()+g.all.bulk.Used() != 0 {
			t.Errorf("left over: %v, %d", g.hosts, g.all.requests.Used())
		}
	})
}

// TestOneBrokenRepositoryClosesNoHost checks that a host stays open while other
// repositories on it are served, and when it only sends rate limits.
func TestOneBrokenRepositoryClosesNoHost(t *testing.T) {
	t.Parallel()
	g := NewGates(clock.Real{}, nil)
	for range 20 {
		for _, said := range []error{errcode.New(errcode.Unavailable, "500"), errcode.New(errcode.Unavailable, "500"), nil,
			errcode.New(errcode.Unavailable, "429").After(time.Minute), errcode.New(errcode.Unauthorized, "401"), errcode.New(errcode.NotFound, "404")} {
			leave, err := g.Enter(t.Context(), Turn{Host: "h"})
			if err != nil {
				t.Fatal(err)
			}
			leave(said)
		}
	}
}

// TestWhatCannotBeHadIsAskedForLess checks the waits of Retries, and its limit.
func TestWhatCannotBeHadIsAskedForLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRetries(clock.Real{})
		began, tries := time.Now(), 0
		for time.Since(began) < time.Hour {
			if r.Blocked("k") == nil {
				tries++
				r.Done("k", away)
			}
			<-time.After(time.Second)
		}
		if tries < 6 || tries > 12 {
			t.Errorf("tried %d times in an hour", tries)
		}
		if r.Blocked("other") != nil || r.Blocked("k") != away {
			t.Error("the wrong things are blocked")
		}
		r.Lift()
		if r.Blocked("k") != nil {
			t.Error("still blocked for a person")
		}
		before := r.tries["k"]
		if until := r.Done("k", away); r.Blocked("k") != away || until != before.until || r.tries["k"].failures != before.failures {
			t.Errorf("a person's look moved the next one from %v to %v", before.until, until)
		}
		r.Done("k", nil)
		if r.Blocked("k") != nil || r.Waiting() {
			t.Error("still blocked after success")
		}
		for i := range 5 * maxTries {
			r.Done(fmt.Sprint(i), away)
		}
		if len(r.tries) > maxTries {
			t.Errorf("%d are remembered", len(r.tries))
		}
	})
}
