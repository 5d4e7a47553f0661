package login

import (
	"github.com/axle-cd/axle/internal/email"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/login/limit"
)

// maxCounters limits how many counters are kept.
const maxCounters = 20000

var (
	// guessRate limits the wrong passwords or codes of one source for an account.
	guessRate = limit.Rate{Burst: 5, Every: 30 * time.Second}
	// tryRate limits all requests of one source without a session, whatever the
	// account.
	tryRate = limit.Rate{Burst: 60, Every: 2 * time.Second}
)

// known marks a browser that has logged in to an account by password.
type known struct {
	Account string `json:"a"`
	ID      string `json:"i"`
}

// guess counts one guess at an account, and returns a function to take it back.
// The counter belongs to the account and the source of the guess, or to the
// browser when it has logged in to the account before: guesses from elsewhere
// use another counter.
func (s *Server) guess(r *http.Request, account string) (right func(), err error) {
	account = email.Lower(strings.TrimSpace(account))
	from := limit.Source(r)
	var k known
	if s.open(r, cookieKnown, &k) && k.Account == account {
		from = "browser " + k.ID
	} else if err := s.try(r); err != nil {
		return nil, err
	}
	key := "guess " + account + " " + from
	if wait := s.limits.Take(key, guessRate); wait > 0 {
		return nil, limit.TooMany(wait)
	}
	return func() { s.limits.GiveBack(key, guessRate) }, nil
}

// try counts one request of a source.
func (s *Server) try(r *http.Request) error {
	if wait := s.limits.Take("try "+limit.Source(r), tryRate); wait > 0 {
		return limit.TooMany(wait)
	}
	return nil
}
