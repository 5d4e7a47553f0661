//go:build testbed

package clock

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Env is "offset[,speed]": how far the clock is ahead of the machine's, as a
// duration, and how many of its seconds pass per second of the machine's.
const Env = "AXLE_TEST_CLOCK"

// FromEnv returns the clock that the environment describes, or the machine's if it
// describes none.
func FromEnv() (Clock, error) {
	text := os.Getenv(Env)
	if text == "" {
		return Real{}, nil
	}
	offset, speed, more := strings.Cut(text, ",")
	c := &shifted{start: time.Now(), speed: 1}
	var err error
	if c.offset, err = time.ParseDuration(offset); err != nil {
		return nil, fmt.Errorf("%s: %w", Env, err)
	}
	if more {
		if c.speed, err = strconv.ParseFloat(speed, 64); err != nil || c.speed <= 0 {
			return nil, fmt.Errorf("%s: speed %q is not a number above 0", Env, speed)
		}
	}
	return c, nil
}

// shifted is ahead of the machine's clock and, from start on, runs at another speed.
type shifted struct {
	start  time.Time
	offset time.Duration
	speed  float64
}

// Now returns the shifted time.
func (s *shifted) Now() time.Time {
	passed := time.Duration(float64(time.Since(s.start)) * s.speed)
	return s.start.Add(s.offset + passed)
}

// After delivers once d has passed by this clock.
func (s *shifted) After(d time.Duration) <-chan time.Time {
	c := make(chan time.Time, 1)
	time.AfterFunc(time.Duration(float64(d)/s.speed), func() { c <- s.Now() })
	return c
}
