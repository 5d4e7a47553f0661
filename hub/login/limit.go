package login

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/pool"
)

// limits are what those who log in share, on each replica apart.
type limits struct {
	// tries are all requests of one source without a session, whatever the account,
	// guesses the wrong passwords or codes of one source for an account.
	tries, guesses *pool.Rates
	// codes are those that people with a session type for a terminal, logouts the
	// messages of providers that were wrong: each may cost a fetch of the provider's keys.
	codes, logouts *pool.Rates
}

func newLimits(pools *pool.Set, c clock.Clock) limits {
	rates := func(name, of string, caller, project pool.Rate) *pool.Rates {
		return pools.Rates(pool.RateSpec{Name: name, Of: of, Caller: caller, Project: project, Clock: c})
	}
	tries := pool.Rate{Burst: 60, Every: 2 * time.Second}
	site := pool.Rate{Burst: 16 * tries.Burst, Every: tries.Every / 16}
	return limits{
		tries:   rates("login_tries", "attempts", tries, site),
		guesses: rates("login_guesses", "attempts", pool.Rate{Burst: 5, Every: 30 * time.Second}, pool.Rate{Burst: 40, Every: 4 * time.Second}),
		codes:   rates("login_codes", "codes", tries, pool.Rate{}),
		logouts: rates("login_logouts", "logouts", tries, site),
	}
}

// source is where a request came from.
func source(r *http.Request) string { return pool.Network(r.RemoteAddr) }

// known marks a browser that has logged in to an account by password.
type known struct {
	Account string `json:"a"`
	ID      string `json:"i"`
}

// guess counts one guess at an account, and returns a function to take it back.
// The counter belongs to the account and the source of the guess, or to the
// browser when it has logged in to the account before: guesses from elsewhere
// use another counter, and other places for hashing, which the context has.
func (s *Server) guess(r *http.Request, account string) (ctx context.Context, right func(), err error) {
	account = email.Lower(strings.TrimSpace(account))
	c, came := pool.Stranger(r.RemoteAddr), 1
	var k known
	if s.open(r, cookieKnown, &k) && k.Account == account {
		c, came = pool.Caller{Name: "browser " + k.ID}, 0
	} else if err := s.limits.tries.Take(c); err != nil {
		return nil, nil, err
	}
	ctx = pool.As(r.Context(), c)
	c.Name, c.Project = account+" "+c.Name, account+" "+c.Project
	if err := s.limits.guesses.Take(c); err != nil {
		return nil, nil, err
	}
	return ctx, func() {
		s.limits.guesses.GiveBack(c)
		s.came(r, came)
	}, nil
}

// try counts one request of a source.
func (s *Server) try(r *http.Request) error { return s.limits.tries.Take(pool.Stranger(r.RemoteAddr)) }

// came gives back the requests of a login that was right: a whole office, which has one
// address, logs in at nine.
func (s *Server) came(r *http.Request, tries int) {
	for range tries {
		s.limits.tries.GiveBack(pool.Stranger(r.RemoteAddr))
	}
}
