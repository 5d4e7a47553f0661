// Package clock is the time as the product sees it. Components take a Clock so
// that a test can hold or move it; builds with the tag testbed shift a whole
// process by the environment variable AXLE_TEST_CLOCK.
package clock

import "time"

// Clock tells the time and makes timers. Real is used outside tests.
type Clock interface {
	// Now returns the present time.
	Now() time.Time
	// After delivers once after d.
	After(d time.Duration) <-chan time.Time
}

// Real is the machine's clock.
type Real struct{}

// Now returns time.Now.
func (Real) Now() time.Time { return time.Now() }

// After is time.After.
func (Real) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Micros returns t as microseconds since 1970 UTC, the format in which every time is
// stored and sent. The zero time is 0.
func Micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// FromMicros is the reverse of Micros.
func FromMicros(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
