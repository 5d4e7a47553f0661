package clock_test

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

func TestManualFiresWhatIsDue(t *testing.T) {
	m := clock.NewManual(time.Unix(100, 0))
	soon, late := m.After(time.Second), m.After(time.Minute)
	m.Advance(2 * time.Second)
	select {
	case <-soon:
	default:
		t.Error("the due timer did not fire")
	}
	select {
	case <-late:
		t.Error("the late timer fired")
	default:
	}
	if n, next := m.Waiting(); n != 1 || !next.Equal(time.Unix(160, 0)) {
		t.Errorf("waiting %d until %v", n, next)
	}
}

func TestMicrosRoundTrip(t *testing.T) {
	if !clock.FromMicros(clock.Micros(time.Time{})).IsZero() {
		t.Error("zero does not come back as zero")
	}
	at := time.Date(2026, 11, 21, 3, 0, 0, 1000, time.UTC)
	if got := clock.FromMicros(clock.Micros(at)); !got.Equal(at) {
		t.Errorf("got %v", got)
	}
}
