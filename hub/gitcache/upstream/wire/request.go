package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/httpwords"
)

// Auth adds credentials to a request. It may call a token service first.
type Auth interface {
	Apply(ctx context.Context, r *http.Request) error
}

// Basic is a user and a password.
type Basic struct{ Username, Password string }

// Apply sets the Authorization header.
func (b Basic) Apply(_ context.Context, r *http.Request) error {
	r.SetBasicAuth(b.Username, b.Password)
	return nil
}

// Bearer is a token that is sent unchanged.
type Bearer string

// Apply sets the Authorization header.
func (b Bearer) Apply(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer "+string(b))
	return nil
}

// Request is one request.
type Request struct {
	Method string // default GET
	URL    string
	Header http.Header
	Body   string
	// Auth is used only for the URL's own host; nil sends nothing.
	Auth Auth
	// OtherHosts allows redirects to other hosts, without credentials. Use it
	// only for content that is compared with a digest.
	OtherHosts bool
	// Accept lists statuses that are no errors, in addition to 2xx.
	Accept []int
}

// Do makes a request and returns its answer, whose body the caller closes. An
// unexpected status is a coded error. The context limits the body too.
func (c *Client) Do(ctx context.Context, q Request) (*http.Response, error) {
	u, err := url.Parse(q.URL)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "an URL of the upstream cannot be read")
	}
	if q.OtherHosts {
		ctx = OtherHosts(ctx)
	}
	method := q.Method
	if method == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(q.Body))
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "an URL of the upstream cannot be used")
	}
	for name, values := range q.Header {
		r.Header[name] = values
	}
	if q.Auth != nil {
		if err := q.Auth.Apply(ctx, r); err != nil {
			return nil, err
		}
	}
	return c.Send(r, q.Accept)
}

// Send is Do for a request that a library made.
func (c *Client) Send(r *http.Request, accept []int) (*http.Response, error) {
	answer, err := c.client.Do(r)
	if err != nil {
		return nil, explain(r.URL, err)
	}
	if answer.StatusCode/100 == 2 || slices.Contains(accept, answer.StatusCode) {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, c.refusal(r.URL, answer)
}

// guarded is the transport that applies this package's rules.
type guarded struct{ client *Client }

// RoundTrip makes one request; a redirect makes another one. An answer with a
// rate limit is an error, and so is one of a server that fails; 501 for HEAD says only that the
// server has no HEAD.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.client.allowed(r.URL); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	sent := r.Clone(ctx)
	sent.Header.Set("User-Agent", "axle")
	answer, err := g.client.transport.RoundTrip(sent)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	answer.Request = r
	answer.Body = newPatient(answer.Body, g.client.config.Silence, cancel, r.URL)
	noHEAD := r.Method == http.MethodHead && answer.StatusCode == http.StatusNotImplemented
	if answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500 && !noHEAD {
		defer answer.Body.Close()
		return nil, g.client.refusal(r.URL, answer)
	}
	return answer, nil
}

// refusal returns the error of a status.
func (c *Client) refusal(u *url.URL, a *http.Response) error {
	words := c.Said(httpwords.Read(a.Header.Get("Content-Type"), a.Body))
	where := Redact(u)
	switch a.StatusCode {
	case http.StatusUnauthorized:
		return errcode.New(errcode.Unauthorized, "%s answers 401 Unauthorized; check the repository's credentials%s", where, words)
	case http.StatusForbidden:
		return errcode.New(errcode.Unauthorized, "%s answers 403 Forbidden; these credentials may not read it%s", where, words)
	case http.StatusNotFound, http.StatusGone:
		return errcode.New(errcode.NotFound, "%s does not exist: the answer is %s%s", where, a.Status, words)
	case http.StatusTooManyRequests:
		return errcode.New(errcode.Unavailable, "%s answers 429 Too Many Requests%s", where, words).After(retryAfter(a.Header))
	case http.StatusProxyAuthRequired:
		return errcode.New(errcode.Unauthorized, "the proxy before %s asks for credentials", where)
	}
	return errcode.New(errcode.Unavailable, "%s answers %.60s%s", where, a.Status, words).After(retryAfter(a.Header))
}

// Said formats a server's message for the end of a sentence: one line of
// limited length, without the repository's secrets.
func (c *Client) Said(words string) string {
	if words = c.config.Scrub(httpwords.Line(words)); words == "" {
		return ""
	}
	return ": " + words
}

// maxRetryAfter limits an upstream's Retry-After.
const maxRetryAfter = time.Hour

func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if n, err := strconv.Atoi(v); err == nil {
		return min(max(0, time.Duration(min(n, 1<<20))*time.Second), maxRetryAfter)
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}

// patient aborts an answer that is silent for too long.
type patient struct {
	body   io.ReadCloser
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
	url    *url.URL
}

var errSilent = errors.New("silent")

func newPatient(body io.ReadCloser, limit time.Duration, cancel context.CancelCauseFunc, u *url.URL) *patient {
	return &patient{body: body, limit: limit, cancel: cancel, url: u, timer: time.AfterFunc(limit, func() { cancel(errSilent) })}
}

// Read passes on what comes.
func (p *patient) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	if n > 0 {
		p.timer.Reset(p.limit)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, errcode.New(errcode.Unavailable, "%s stopped in the middle of its answer: %w", Redact(p.url), err)
	}
	return n, err
}

// Close ends the request.
func (p *patient) Close() error {
	p.timer.Stop()
	err := p.body.Close()
	p.cancel(nil)
	return err
}

// Copy writes a body to w and returns its length and SHA-256 in hex. More than
// limit bytes are an error.
func Copy(w io.Writer, body io.Reader, limit int64, what string) (int64, string, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(body, limit+1))
	if err != nil {
		return n, "", err
	}
	if n > limit {
		return n, "", errcode.New(errcode.Unprocessable, "%s is larger than %d bytes", what, limit)
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}

// Limited makes requests for libraries that keep whole answers in memory:
// reading more of one is an error.
type Limited struct {
	client *http.Client
	bytes  int64
}

// Limited returns the client with a limit for each answer.
func (c *Client) Limited(bytes int64) Limited { return Limited{c.client, bytes} }

// Do makes a request.
func (l Limited) Do(r *http.Request) (*http.Response, error) {
	answer, err := l.client.Do(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, l.bytes)
	}
	return answer, err
}

// ReadAll reads a small body.
func ReadAll(body io.Reader, limit int64, what string) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = errcode.New(errcode.Unprocessable, "%s is larger than %d bytes", what, limit)
	}
	return raw, err
}
