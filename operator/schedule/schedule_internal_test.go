package schedule

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// advance lets time of a synctest bubble go by.
func advance(d time.Duration) { <-time.After(d) }

func is(v bool) func() bool { return func() bool { return v } }

// After a start, checks are spread over the interval and never all at once.
func TestFirstChecksAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(30 * time.Second)
		early := 0
		for n := range 1000 {
			key := types.NamespacedName{Name: string(rune('a' + n))}
			wait, due := s.Wait(key, is(true), 30*time.Minute)
			if due || wait > 30*time.Minute {
				t.Fatalf("a first check is due: %v, after %s", due, wait)
			}
			if wait < 3*time.Minute {
				early++
			}
		}
		if early < 30 || early > 200 {
			t.Errorf("%d of 1000 checks are in the first tenth of the interval", early)
		}
	})
}

func TestChecksKeepTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, key := New(30*time.Second), types.NamespacedName{Name: "web"}
		for range 100 {
			wait := s.Again(key, true, 30*time.Minute, 30*time.Second)
			if wait < 15*time.Minute || wait >= 45*time.Minute {
				t.Fatalf("a wait of %s for an interval of 30m", wait)
			}
			advance(wait - time.Second)
			if left, due := s.Wait(key, is(true), 30*time.Minute); due || left != time.Second {
				t.Fatalf("a second before: due %v, %s left", due, left)
			}
			advance(time.Second)
			if _, due := s.Wait(key, is(true), 30*time.Minute); !due {
				t.Fatal("the check is not due")
			}
		}
		// Without drift detection a ready object is never checked.
		if wait := s.Again(key, true, 0, 30*time.Second); wait != 0 {
			t.Errorf("a wait of %s", wait)
		}
		advance(1000 * time.Hour)
		if _, due := s.Wait(key, is(true), 0); due {
			t.Error("a check without drift detection")
		}
	})
}

// What is not ready is looked at more and more seldom.
func TestPendingWaitsGrow(t *testing.T) {
	s, key := New(30*time.Second), types.NamespacedName{Name: "web"}
	want := 30 * time.Second
	for range 12 {
		wait := s.Again(key, false, 30*time.Minute, 30*time.Second)
		if wait < want/2 || wait >= want*3/2 {
			t.Fatalf("a wait of %s, want %s ± 50 %%", wait, want)
		}
		want = min(want*3/2, 30*time.Minute)
	}
	s.Again(key, true, 30*time.Minute, 30*time.Second)
	if wait := s.Again(key, false, 30*time.Minute, 30*time.Second); wait >= 45*time.Second {
		t.Errorf("after it was ready, the first wait is %s", wait)
	}
}

// A reconcile waits for a cache that has not seen our own status.
func TestOldVersionsAreNotActedOn(t *testing.T) {
	s, key := New(0), types.NamespacedName{Name: "web"}
	if s.Behind(key, "9") {
		t.Error("an object that was never written is behind")
	}
	s.Wrote(key, "10")
	for version, want := range map[string]bool{"9": true, "10": false, "11": false} {
		if s.Behind(key, version) != want {
			t.Errorf("version %s is behind 10: %v", version, !want)
		}
	}
	if s.Drop(key); s.Behind(key, "9") {
		t.Error("an object that is gone is behind")
	}
}

// Retries have full jitter and are bounded by 5 min.
func TestRetriesAreBounded(t *testing.T) {
	b := NewBackoff(Timing{}.WithDefaults())
	request := reconcile.Request{NamespacedName: types.NamespacedName{Name: "web"}}
	longest := time.Duration(0)
	for n := range 2000 {
		wait := b.When(request)
		if n == 0 && wait > time.Second || wait > 5*time.Minute {
			t.Fatalf("retry %d waits %s", n, wait)
		}
		longest = max(longest, wait)
	}
	if longest < 4*time.Minute || b.NumRequeues(request) != 2000 {
		t.Errorf("the longest wait is %s after %d", longest, b.NumRequeues(request))
	}
	b.Forget(request)
	if wait := b.When(request); wait > time.Second {
		t.Errorf("after a success the first wait is %s", wait)
	}
}
