package agentapi

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/axle-cd/axle/internal/address"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// registerRate and registerBurst limit registrations per address. Many
	// agents may share an address behind NAT and start at once, so the burst
	// fits a large site; the limit is against guessing tokens.
	registerRate  = 5
	registerBurst = 200
	// registerAddresses limits how many addresses are remembered.
	registerAddresses = 10_000
)

// addressLimit is a token bucket per client address.
type addressLimit struct {
	clock clock.Clock

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	*rate.Limiter
	used time.Time
}

func newAddressLimit(c clock.Clock) *addressLimit {
	return &addressLimit{clock: c, buckets: map[string]*bucket{}}
}

// allow takes one token of the caller's address.
func (l *addressLimit) allow(remote string) error {
	host := address.Host(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	b := l.buckets[host]
	if b == nil {
		l.makeRoom(now)
		b = &bucket{Limiter: rate.NewLimiter(registerRate, registerBurst)}
		l.buckets[host] = b
	}
	b.used = now
	if !b.AllowN(now, 1) {
		return errcode.New(errcode.Exhausted, "too many registrations from %s; try again in a few seconds", host).After(5 * time.Second)
	}
	return nil
}

// makeRoom forgets addresses whose bucket is full again. When none is full it
// forgets all: an attacker needs more work to cause that than it is worth.
func (l *addressLimit) makeRoom(now time.Time) {
	if len(l.buckets) < registerAddresses {
		return
	}
	full := time.Duration(registerBurst/registerRate) * time.Second
	for host, b := range l.buckets {
		if now.Sub(b.used) > full {
			delete(l.buckets, host)
		}
	}
	if len(l.buckets) >= registerAddresses {
		clear(l.buckets)
	}
}

// limitBody limits a request's body and the time that it may take.
func limitBody(next http.Handler, bytes int64, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		// Writers without deadlines (in tests) do not need one.
		_ = rc.SetReadDeadline(time.Now().Add(within))
		_ = rc.SetWriteDeadline(time.Now().Add(2 * within))
		r.Body = http.MaxBytesReader(w, r.Body, bytes)
		next.ServeHTTP(w, r)
	})
}
