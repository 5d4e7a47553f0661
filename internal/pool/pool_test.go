package pool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
)

// fill takes places as long as there are any.
func fill(p *pool.Places, c pool.Caller) (held []*pool.Held, err error) {
	for {
		one, err := p.Take(c)
		if err != nil {
			return held, err
		}
		held = append(held, one)
	}
}

func TestSharesLeaveRoom(t *testing.T) {
	registry := prometheus.NewRegistry()
	set := pool.NewSet(registry)
	p := set.Places(pool.Spec{Name: "things", Of: "things", Size: 100, Reserve: 10, Retry: 3 * time.Second, Named: true})
	refused := func(err error, words ...string) {
		t.Helper()
		if !errcode.Is(err, errcode.Exhausted) || errcode.RetryAfter(err) != 3*time.Second {
			t.Errorf("got %v", err)
		}
		for _, w := range append(words, "(pool things)", "try again in 3 s") {
			if !strings.Contains(errcode.Message(err), w) {
				t.Errorf("%q does not say %q", errcode.Message(err), w)
			}
		}
	}
	all := map[string][]*pool.Held{}
	var got []int
	for _, name := range []string{"a", "b", "c"} {
		held, err := fill(p, pool.Caller{Name: name})
		refused(err, "your share of the 100 places for things")
		all[name], got = held, append(got, len(held))
	}
	if fmt.Sprint(got) != "[45 23 11]" {
		t.Errorf("three who take what they can have %v", got)
	}
	// What is left is for others, then for administrators, to the last place.
	for n := range 11 {
		if _, err := p.Take(pool.Caller{Name: fmt.Sprint("other", n)}); err != nil {
			t.Errorf("the %d. of others: %v", n, err)
		}
	}
	_, err := p.Take(pool.Caller{Name: "late"})
	refused(err, "for administrators", "(a 45, b 23, c 11, 11 others)")
	held, err := fill(p, pool.Caller{Name: "root", Reserved: true})
	refused(err, "all 100 places", "your share is all of them now, and you have 10")
	_, err = p.Take(pool.Caller{Name: "late"})
	refused(err, "all 100 places", "your share is 0 now, and you have 0")
	if len(held) != 10 || p.Used() != 100 {
		t.Errorf("administrators have %d, used are %d", len(held), p.Used())
	}
	for _, h := range all["a"] {
		h.Leave()
		h.Leave()
	}
	if p.Used() != 55 {
		t.Errorf("%d are used", p.Used())
	}
	for name, want := range map[string]float64{
		"axle_pool_capacity things": 100, "axle_pool_used things": 55, "axle_pool_refused_total things caller": 3,
		"axle_pool_refused_total things full": 2, "axle_pool_refused_total things project": 0, "axle_pool_refused_total things reserve": 1,
	} {
		if got, there := values(t, registry)[name]; got != want || !there {
			t.Errorf("%s is %v", name, got)
		}
	}
}

// values are the metrics by name and labels.
func values(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// Many callers of one project, and many networks of one site, have one share together.
// A share that is a number is an administrator's too: one browser or script of theirs must
// not take what the others come with.
func TestAShareInNumbersIsForAll(t *testing.T) {
	p := pool.NewSet(nil).Places(pool.Spec{Name: "things", Of: "things", Size: 100, Share: 4, Reserve: 10})
	for _, c := range []pool.Caller{{Name: "ann"}, {Name: "root", Reserved: true}} {
		held, err := fill(p, c)
		if len(held) != 4 || !errcode.Is(err, errcode.Exhausted) || !strings.Contains(errcode.Message(err), "your share of the 100 places for things is 4 now") {
			t.Errorf("%s has %d, then %v", c.Name, len(held), err)
		}
	}
}

func TestManyOfOneProjectHaveOneShare(t *testing.T) {
	for name, caller := range map[string]func(n int) pool.Caller{
		"tokens of one project": func(n int) pool.Caller { return pool.Caller{Name: fmt.Sprint(n), Project: "shop"} },
		"networks of a site":    func(n int) pool.Caller { return pool.Stranger(fmt.Sprintf("[2001:db8:1:%x::1]:443", n)) },
		"addresses of a site":   func(n int) pool.Caller { return pool.Stranger(fmt.Sprintf("192.0.2.%d:1", n%256)) },
	} {
		var set *pool.Set
		p := set.Places(pool.Spec{Name: "things", Of: "things", Size: 100, Retry: time.Second})
		taken := 0
		for n := range 1000 {
			if _, err := p.Take(caller(n)); err == nil {
				taken++
			} else if !strings.Contains(err.Error(), "your project or network of the 100 places for things is 50 now, and it has 50") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if taken != 50 {
			t.Errorf("%s have %d", name, taken)
		}
		r := set.Rates(pool.RateSpec{Name: "uses", Of: "uses", Caller: pool.Rate{Burst: 5, Every: time.Second}, Project: pool.Rate{Burst: 50, Every: time.Second}, Clock: clock.NewManual(time.Unix(1e9, 0))})
		taken = 0
		for n := range 1000 {
			if r.Take(caller(n)) == nil {
				taken++
			}
		}
		if taken != 50 {
			t.Errorf("%s used %d", name, taken)
		}
		if err := r.Take(pool.Stranger("198.51.100.7:1")); err != nil {
			t.Errorf("%s: another is refused: %v", name, err)
		}
	}
}

func TestStrangersAreNetworks(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1:5": "192.0.2.1 192.0.2.0/24", "[2001:db8::1]:5": "2001:db8::/64 2001:db8::/48", "[2001:db8::ffff:1]:7": "2001:db8::/64 2001:db8::/48",
		"[::ffff:192.0.2.1]:5": "192.0.2.1 192.0.2.0/24", "[fe80::1%eth0]:5": "fe80::/64 fe80::/48", "odd": "odd ",
	} {
		if c := pool.Stranger(from); c.Name+" "+c.Project != want {
			t.Errorf("%s: %q %q", from, c.Name, c.Project)
		}
	}
}

// Who waits gets the next place that is within their share, in order.
func TestPlacesAreWaitedForInOrder(t *testing.T) {
	var set *pool.Set
	p := set.Places(pool.Spec{Name: "things", Of: "things", Size: 2, Queue: 4, Within: time.Hour, Retry: time.Second})
	a, b := pool.Caller{Name: "a"}, pool.Caller{Name: "b"}
	first, err := p.Wait(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan *pool.Held, 2)
	for range 2 {
		go func() {
			held, err := p.Wait(t.Context(), a)
			if err != nil {
				t.Error(err)
			}
			came <- held
		}()
	}
	eventually.For(t, time.Minute, "two wait", func() error {
		if n := p.Waiting(); n != 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	if _, err := p.Wait(canceled(), a); !errcode.Is(err, errcode.Exhausted) {
		t.Errorf("a third of one caller may wait: %v", err)
	}
	// The other place is free for others, although two wait.
	held, err := p.Wait(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(canceled(), b); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	first.Leave()
	second := <-came
	held.Leave()
	if p.Used() != 1 {
		t.Errorf("%d are used", p.Used())
	}
	second.Leave()
	(<-came).Leave()
	if p.Used() != 0 {
		t.Errorf("%d are used", p.Used())
	}
}

// canceled is a context that has ended.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// However many of one project wait, another's first one waits for one of them at most.
func TestProjectsHaveTurns(t *testing.T) {
	var set *pool.Set
	p := set.Places(pool.Spec{Name: "things", Of: "things", Size: pool.SizeFor(1), Patient: true})
	guest, other := pool.Caller{Name: "g", Project: "guest"}, pool.Caller{Name: "o", Project: "other"}
	held, err := p.Take(guest)
	if err != nil || p.Try(guest) != nil {
		t.Fatalf("one of two: %v", err)
	}
	// Nobody but these two has places.
	kept, err := p.Take(pool.Caller{Name: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Leave()
	came := make(chan string, 10)
	wait := func(c pool.Caller) {
		waiting := p.Waiting()
		go func() {
			held, err := p.Wait(t.Context(), c)
			if err == nil {
				came <- c.Name
				held.Leave()
			}
		}()
		eventually.For(t, time.Minute, "one more waits", func() error {
			if n := p.Waiting(); n != waiting+1 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
	}
	for range 5 {
		wait(guest)
	}
	wait(other)
	held.Leave()
	if first, second := <-came, <-came; first+second != "go" {
		t.Errorf("first came %s, then %s", first, second)
	}
}

// Two projects that always have work do not fill three places: of a third one, the first finds
// room at once, whichever of theirs ended last.
func TestNobodyHasTwoWhileAnotherWaits(t *testing.T) {
	for ends := range 2 {
		var set *pool.Set
		p := set.Places(pool.Spec{Name: "things", Of: "things", Size: pool.SizeFor(2), Patient: true})
		guests := []pool.Caller{{Name: "a", Project: "a"}, {Name: "b", Project: "b"}}
		came := make(chan *pool.Held, 10)
		wait := func(c pool.Caller) {
			waiting := p.Waiting()
			go func() {
				if held, err := p.Wait(t.Context(), c); err == nil {
					came <- held
				}
			}()
			eventually.For(t, time.Minute, "one more waits", func() error {
				if n := p.Waiting(); n != waiting+1 {
					return fmt.Errorf("%d", n)
				}
				return nil
			})
		}
		var held []*pool.Held
		for _, c := range guests {
			one, err := p.Take(c)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, one)
		}
		for range 3 {
			for _, c := range guests {
				wait(c)
			}
		}
		held[ends].Leave()
		<-came
		if used := p.Used(); used != 2 {
			t.Errorf("after one of %s, %d places are used by two who always have work", guests[ends].Name, used)
		}
		if p.Try(pool.Caller{Name: "c", Project: "c"}) == nil {
			t.Errorf("after one of %s, there is no room for a third", guests[ends].Name)
		}
	}
}

// Whoever has work that waits elsewhere has turns too: the one with the longest queue has no
// two of them while another one with room waits, and who had no work begins behind the others.
func TestWorkThatWaitsElsewhereHasTurns(t *testing.T) {
	var set *pool.Set
	p := set.Places(pool.Spec{Name: "things", Of: "things", Size: pool.SizeFor(2)})
	next := func(callers ...string) string {
		t.Helper()
		var of []pool.Caller
		for _, name := range callers {
			of = append(of, pool.Caller{Name: name})
		}
		who, held := p.Next(of)
		defer held.Leave()
		if (held == nil) != (who.Name == "") {
			t.Fatalf("%q has %v", who.Name, held)
		}
		return who.Name
	}
	var order []string
	for range 3 {
		order = append(order, next("guest", "shop"))
	}
	order = append(order, next("guest", "shop", "late"), next("guest", "late", "shop"), next("guest"), next("shop", "guest"), next("shop", "guest"))
	if got := strings.Join(order, " "); got != "guest shop guest shop guest guest guest shop" {
		t.Errorf("the order is %s", got)
	}
	for range 2 { // its share
		if held := p.Try(pool.Caller{Name: "guest"}); held == nil {
			t.Fatal("no place")
		}
	}
	if got := next("guest"); got != "" {
		t.Errorf("%s has more than its share", got)
	}
	if got := next("guest", "shop"); got != "shop" {
		t.Errorf("%q has the place beside a guest's share", got)
	}
	// A reserved caller waits for nobody of their project, and has no two turns either.
	p = set.Places(pool.Spec{Name: "things", Of: "things", Size: pool.SizeFor(2)})
	admin := pool.Caller{Name: "admin", Project: "shop", Reserved: true}
	if _, err := p.Take(admin); err != nil {
		t.Fatal(err)
	}
	if who, _ := p.Next([]pool.Caller{admin, {Name: "other"}}); who.Name != "other" {
		t.Errorf("%q has the turn beside an administrator with a place", who.Name)
	}
}

// A pool that grows gives its new places to those who wait; one that shrinks takes none away.
func TestPlacesAreResized(t *testing.T) {
	var set *pool.Set
	p := set.Places(pool.Spec{Name: "things", Of: "things", Size: 2, Patient: true})
	a := pool.Caller{Name: "a"}
	if held, err := fill(p, a); len(held) != 1 || !errcode.Is(err, errcode.Exhausted) {
		t.Fatalf("%d, %v", len(held), err)
	}
	came := make(chan error, 1)
	go func() {
		_, err := p.Wait(t.Context(), a)
		came <- err
	}()
	eventually.For(t, time.Minute, "one waits", func() error {
		if p.Waiting() != 1 {
			return errors.New("nobody waits")
		}
		return nil
	})
	p.Resize(3)
	if err := <-came; err != nil || p.Used() != 2 {
		t.Errorf("%v, used are %d", err, p.Used())
	}
	p.Resize(1)
	if p.Used() != 2 || p.Try(pool.Caller{Name: "b"}) != nil {
		t.Errorf("used are %d of one", p.Used())
	}
}

func TestWaitingEnds(t *testing.T) {
	var set *pool.Set
	p := set.Places(pool.Spec{Name: "things", Of: "things", Size: 1, Queue: 4, Within: time.Nanosecond, Retry: time.Second})
	if _, err := p.Take(pool.Caller{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context(), pool.Caller{Name: "b"}); !errcode.Is(err, errcode.Exhausted) || !strings.Contains(err.Error(), "all 1 places") {
		t.Errorf("got %v", err)
	}
}

func TestRatesComeBackAndAreBounded(t *testing.T) {
	c := clock.NewManual(time.Unix(1e9, 0))
	var set *pool.Set
	r := set.Rates(pool.RateSpec{Name: "uses", Of: "uses", Caller: pool.Rate{Burst: 2, Every: time.Minute}, Keys: 100, Clock: c})
	for i := range 1000 {
		if err := r.Take(pool.Caller{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	a := pool.Caller{Name: "a"}
	for range 2 {
		if err := r.Take(a); err != nil {
			t.Errorf("one of two at once: %v", err)
		}
	}
	if err := r.Take(a); errcode.RetryAfter(err) != time.Minute || !errcode.Is(r.Look(a), errcode.Exhausted) {
		t.Errorf("the third: %v", err)
	}
	if r.Used() != 2 {
		t.Errorf("%d are used", r.Used())
	}
	c.Advance(time.Minute)
	if err := errors.Join(r.Look(a), r.Take(a)); err != nil {
		t.Error(err)
	}
	r.GiveBack(a)
	if err := r.Take(a); err != nil {
		t.Errorf("what was given back: %v", err)
	}
	// All together have a bound, and administrators a tenth more.
	r = set.Rates(pool.RateSpec{Name: "uses", Of: "uses", All: pool.Rate{Burst: 20, Every: time.Minute}, Clock: c})
	taken, reserve := 0, 0
	for n := range 100 {
		if r.Take(pool.Caller{Name: fmt.Sprint(n)}) == nil {
			taken++
		}
	}
	for range 100 {
		if r.Take(pool.Caller{Name: "root", Reserved: true}) == nil {
			reserve++
		}
	}
	if taken != 20 || reserve != 3 || r.Used() != 23 {
		t.Errorf("%d, %d of administrators, used %d", taken, reserve, r.Used())
	}
}
