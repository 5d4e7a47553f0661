package hubclient

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// Reason says why an answer was rejected.
type Reason string

// All reasons.
const (
	// Unreachable: no answer at all, or an interrupted one.
	Unreachable Reason = "Unreachable"
	// Unauthorized: the deploy token is unknown, expired or revoked.
	Unauthorized Reason = "Unauthorized"
	// Refused: the hub answered with an error.
	Refused Reason = "Refused"
	// Busy: the hub asks to retry later.
	Busy Reason = "Busy"
	// Redirected: a redirect; the agent does not follow it.
	Redirected Reason = "Redirected"
	// NotTheHub: the answer is not one of the protocol, such as a portal's page.
	NotTheHub Reason = "NotTheHub"
	// Stale: the answer is older than one already accepted.
	Stale Reason = "Stale"
	// Untrusted: a list without the signature of a pinned key, or for another
	// cluster.
	Untrusted Reason = "Untrusted"
	// UnknownKey: signed by a key that this agent does not have yet. Renewing the
	// token brings the present keys.
	UnknownKey Reason = "UnknownKey"
)

// AnswerError says that an answer, or its absence, changes nothing: the caller keeps
// what it has. It unwraps to a coded error.
type AnswerError struct {
	Reason Reason
	// Status is the HTTP status, zero if there was none.
	Status int
	coded  *errcode.Error
	away   bool
}

// Error is the message for people.
func (e *AnswerError) Error() string { return e.coded.Error() }

// Away reports whether there was no hub that could answer: it cannot be reached, a gateway
// reports so, or it starts.
func (e *AnswerError) Away() bool { return e.away }

// Unwrap returns the coded error.
func (e *AnswerError) Unwrap() error { return e.coded }

// RetryAfter is how long the hub asked to wait; zero if unknown.
func (e *AnswerError) RetryAfter() time.Duration { return e.coded.RetryAfter }

// ReasonOf returns the reason of an AnswerError in the chain, or empty.
func ReasonOf(err error) Reason {
	var answer *AnswerError
	if errors.As(err, &answer) {
		return answer.Reason
	}
	return ""
}

func hold(reason Reason, status int, code errcode.Code, format string, args ...any) *AnswerError {
	return &AnswerError{Reason: reason, Status: status, coded: errcode.New(code, format, args...)}
}

// again reports whether another attempt at once may succeed.
func (e *AnswerError) again() bool {
	return e.Reason == Unreachable || e.Reason == Busy || e.Reason == Stale
}

// statusError explains an answer with an unexpected status. text is the hub's message
// if the hub answered, otherwise empty.
func statusError(r *http.Response, text string) *AnswerError {
	status := r.StatusCode
	if status >= 300 && status < 400 {
		return hold(Redirected, status, errcode.Unavailable,
			"the hub's address answers with a redirect (%d) to %s; set --hub-url to the hub itself, or sign in to the network that redirects", status, host(r))
	}
	if text == "" {
		return notTheHub(r)
	}
	after := retryAfter(r.Header)
	switch status {
	case http.StatusUnauthorized:
		return hold(Unauthorized, status, errcode.Unauthorized, "the hub does not accept this agent's token: %s", text)
	case http.StatusTooManyRequests:
		return &AnswerError{Reason: Busy, Status: status, coded: errcode.New(errcode.Exhausted, "the hub is busy: %s", text).After(after)}
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return &AnswerError{Reason: Busy, Status: status, coded: errcode.New(errcode.Unavailable, "the hub is not ready: %s", text).After(after)}
	}
	return hold(Refused, status, codeOf(status), "the hub refuses (%d): %s", status, text)
}

func codeOf(status int) errcode.Code {
	for _, c := range []errcode.Code{errcode.NotFound, errcode.Invalid, errcode.Conflict, errcode.Forbidden, errcode.Unprocessable} {
		if errcode.HTTPStatus(c) == status {
			return c
		}
	}
	return errcode.Unavailable
}

// notTheHub explains an answer that is not one of the protocol. Gateways in front of
// the hub answer 502, 503 and 504 with their own text; those are worth a second
// attempt, a page with 200 is not.
func notTheHub(r *http.Response) *AnswerError {
	kind := r.Header.Get("Content-Type")
	if kind == "" {
		kind = "no content type"
	}
	switch r.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &AnswerError{Reason: Busy, Status: r.StatusCode, away: true, coded: errcode.New(errcode.Unavailable,
			"a gateway in front of the hub answers %d (%s); the hub is unavailable or starting", r.StatusCode, kind).After(retryAfter(r.Header))}
	}
	return hold(NotTheHub, r.StatusCode, errcode.Unavailable,
		"what answers at the hub's address is not a hub: %d with %s; check --hub-url and whether a portal or proxy stands between", r.StatusCode, kind)
}

func host(r *http.Response) string {
	if to, err := r.Location(); err == nil {
		return to.Host
	}
	return "nowhere"
}

// retryAfter reads the header in seconds, at most 10 min.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(strings.TrimSpace(h.Get("Retry-After")))
	if err != nil || n <= 0 {
		return 0
	}
	return min(time.Duration(n)*time.Second, 10*time.Minute)
}

func unreachable(err error) *AnswerError {
	return &AnswerError{Reason: Unreachable, away: true, coded: errcode.New(errcode.Unavailable, "the hub cannot be reached: %w", err)}
}

func staleError(got, seen Position) *AnswerError {
	return hold(Stale, 0, errcode.Unavailable,
		"an answer of the hub is older (%s) than one already accepted (%s); it is dropped", show(got), show(seen))
}

func show(p Position) string {
	if p == (Position{}) {
		return "no position"
	}
	return fmt.Sprintf("%s.%d", p.Incarnation, p.Sequence)
}
