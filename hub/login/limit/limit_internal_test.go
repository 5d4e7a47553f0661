package limit

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

func TestCountersAreBounded(t *testing.T) {
	c := clock.NewManual(time.Unix(1e9, 0))
	l := New(c, 100)
	for i := range 1000 {
		l.Take(fmt.Sprint(i), Rate{5, time.Second})
	}
	if l.size() != 100 {
		t.Errorf("%d counters", l.size())
	}
	r := Rate{2, time.Minute}
	for range r.Burst {
		if wait := l.Take("a", r); wait != 0 {
			t.Errorf("one of two at once waits %s", wait)
		}
	}
	if wait := l.Take("a", r); wait != time.Minute {
		t.Errorf("the third waits %s", wait)
	}
	if wait := l.Take("b", r); wait != 0 {
		t.Errorf("another one waits %s", wait)
	}
	c.Advance(time.Minute)
	if wait := l.Take("a", r); wait != 0 {
		t.Errorf("a minute later: %s", wait)
	}
	l.GiveBack("a", r)
	if wait := l.Take("a", r); wait != 0 {
		t.Errorf("what was given back: %s", wait)
	}
}

func TestSourceIsANetworkForIPv6(t *testing.T) {
	for from, want := range map[string]string{
		"192.0.2.1:5": "192.0.2.1", "[2001:db8::1]:5": "2001:db8::/64", "[2001:db8::ffff:1]:7": "2001:db8::/64", "[::ffff:192.0.2.1]:5": "192.0.2.1", "odd": "odd",
	} {
		if got := Source(&http.Request{RemoteAddr: from}); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}
