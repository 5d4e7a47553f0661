package hubclient

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// The headers of the protocol, in the form that net/http keeps them.
const (
	seenHeader     = "Axle-Seen"
	positionHeader = "Axle-Position"
	statusHeader   = "Axle-Status"
)

// Client makes requests for one cluster. It is safe for concurrent use.
type Client struct {
	origin    *url.URL
	desired   *url.URL
	transport http.RoundTripper
	attempts  int
	clock     clock.Clock
	calls     func() agentv1connect.AgentServiceClient

	mu        sync.Mutex
	clusterID string
	token     []string // "Bearer …" as a header value, shared by requests
	keys      map[string]ed25519.PublicKey
	former    map[string]ed25519.PublicKey // never changes
	// seen is the highest position that the hub named, which requests ask for; held
	// is that of the last accepted list or specs.
	seen      Position
	seenValue []string
	held      Position
	// skew is how far the hub's clock is ahead of ours, as far as known.
	skew time.Duration
	// newerLife is set when an unsigned position named a later incarnation: the next
	// poll requests the list, which is signed.
	newerLife bool
	// refused is what the next poll reports to the hub as rejected.
	refused string

	// Proof is shown to a replica that is behind.
	Proof *Proof
}

// New returns a Client; it makes no requests. Errors are Invalid.
func New(cfg Config) (*Client, error) {
	u, err := origin(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Transport == nil {
		if cfg.Transport, err = NewTransport(nil); err != nil {
			return nil, err
		}
	}
	if cfg.Attempts <= 0 {
		cfg.Attempts = defaultAttempts
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	c := &Client{
		origin: u, desired: u.JoinPath("/agent/v1/desired"), transport: cfg.Transport,
		attempts: cfg.Attempts, clock: cfg.Clock, clusterID: cfg.ClusterID, Proof: &Proof{shown: cfg.Shown}, keys: maps.Clone(cfg.Keys), former: maps.Clone(cfg.Former),
	}
	c.calls = sync.OnceValue(c.makeCalls)
	c.SetToken(cfg.Token)
	c.mu.Lock()
	c.held = cfg.Seen
	c.setSeen(cfg.Seen)
	c.mu.Unlock()
	return c, nil
}

// SetToken changes the deploy token for the calls that start from now on.
func (c *Client) SetToken(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = []string{"Bearer " + token}
}

// Authorization is the header of the calls that start from now on.
func (c *Client) Authorization() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token[0]
}

// Expect makes later calls ask for nothing older than a position that the hub named:
// another replica may answer, and be behind. Positions of another incarnation of the
// hub's database come only with signed lists.
func (c *Client) Expect(p Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Incarnation == c.seen.Incarnation && p.Sequence > c.seen.Sequence {
		c.setSeen(p)
	}
}

// Seen returns the highest position that the hub named.
func (c *Client) Seen() Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}

func (c *Client) setSeen(p Position) {
	c.seen, c.seenValue = p, nil
	if p != (Position{}) {
		c.seenValue = []string{p.String()}
	}
}

// header returns the headers that every request carries. The values are
// shared and must not be changed.
func (c *Client) header() http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := make(http.Header, 6)
	h["Authorization"] = c.token
	h["User-Agent"] = noAgent // keep idle polls small
	if c.seenValue != nil {
		h[seenHeader] = c.seenValue
	}
	c.Proof.show(h)
	return h
}

var noAgent = []string{""}

// take checks an answer's position and remembers it if it is higher. A list moves the
// client by its signed position, not by its header. Within the incarnation, an answer
// must not be older than its request asked for; a hint or another call may have named
// a later position since, which does not make this answer stale. A newer incarnation
// is accepted only with its signed list, but does not make an answer stale.
func (c *Client) take(request, answer http.Header, list bool) error {
	text := answer.Get(positionHeader)
	if text == "" {
		return nil
	}
	at, err := ParsePosition(text)
	if err != nil {
		return hold(NotTheHub, 0, errcode.Unavailable, "the hub's answer cannot be read: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case at.Before(c.seen):
		asked, err := ParsePosition(request.Get(seenHeader))
		if err != nil || at.Before(asked) || at.Incarnation != c.seen.Incarnation {
			return staleError(at, c.seen)
		}
	case list:
	case c.seen.Incarnation == "":
		c.setSeen(at)
	case at.Incarnation != c.seen.Incarnation:
		c.newerLife = true
	case at.Sequence > c.seen.Sequence:
		c.setSeen(at)
	}
	return nil
}

// roundTrip sends one request and makes the checks that every answer must pass. The
// caller closes the body.
func (c *Client) roundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.transport.RoundTrip(r)
	if err != nil {
		c.dropConnections(err)
		return nil, unreachable(cause(r.Context(), err))
	}
	c.watchClock(answer.Header)
	c.Proof.keep(answer.Header, c.Seen())
	list := r.URL == c.desired && answer.StatusCode == http.StatusOK
	// A replica that is behind says so, and when to retry. Its older position is
	// expected then, and no reason to drop the answer.
	busy := answer.StatusCode == http.StatusServiceUnavailable || answer.StatusCode == http.StatusTooManyRequests
	if err := c.take(r.Header, answer.Header, list); err != nil && !busy {
		return nil, errors.Join(err, answer.Body.Close())
	}
	return answer, nil
}

// watchClock records how far the hub's clock is ahead, from answers that carry a
// time. Idle polls do not.
func (c *Client) watchClock(h http.Header) {
	date := h.Get("Date")
	if date == "" {
		return
	}
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	skew := at.Sub(c.clock.Now())
	if skew.Abs() < time.Minute {
		skew = 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew = skew
}

// Skew is how far the hub's clock is ahead of ours; zero below a minute.
func (c *Client) Skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skew
}

// dropConnections makes the next attempt dial again after a timeout: a connection
// whose path is gone looks alive until its peer should answer.
func (c *Client) dropConnections(err error) {
	if t, ok := c.transport.(*http.Transport); ok && errors.Is(err, context.DeadlineExceeded) {
		t.CloseIdleConnections()
	}
}

func cause(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return errors.New("it did not answer in time")
	}
	return err
}

// retry runs call until it succeeds, at most attempts times, with full jitter in
// between and never before a Retry-After.
func (c *Client) retry(ctx context.Context, call func(context.Context) error) error {
	backoff := jitter.Backoff{Min: 500 * time.Millisecond, Max: 5 * time.Second}
	for n := 1; ; n++ {
		err := c.attempt(ctx, call)
		var answer *AnswerError
		if err == nil || n >= c.attempts || ctx.Err() != nil || !errors.As(err, &answer) || !answer.again() {
			return err
		}
		after := answer.RetryAfter()
		if after > 10*time.Second {
			return err
		}
		select {
		case <-c.clock.After(after + backoff.Next()):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *Client) attempt(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}

// refusal reads a small error answer and explains it.
func refusal(r *http.Response) *AnswerError {
	if r.StatusCode >= 300 && r.StatusCode < 400 {
		return statusError(r, "")
	}
	return statusError(r, hubWords(r))
}

// hubWords returns the message of a hub's error body, or empty if it is something
// else.
func hubWords(r *http.Response) string {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return ""
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxErrorBody))
	if err != nil {
		return ""
	}
	var problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &problem) != nil || problem.Code == "" {
		return ""
	}
	if problem.Message == "" {
		return problem.Code
	}
	return problem.Message
}
