package authproxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
)

const (
	// maxObjects limits one answer that is held in memory here, and maxEvent
	// one event of a watch.
	maxObjects = 32 << 20
	maxEvent   = 8 << 20
	// maxLogs is how many logs callers read at once on one replica, and maxLogsOfOne how
	// many one does: those of one search, and some more.
	maxLogs      = 1000
	maxLogsOfOne = 60
	// logPiece is how much of a log goes on at once. A longer line goes on in
	// pieces.
	logPiece = 64 << 10
	// asTable requests what kubectl prints.
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
)

// Asking is one request of a page, by a caller who was authenticated elsewhere.
type Asking struct {
	Caller identity.Principal
	// Source is the caller's address.
	Source string
	// Handle names the cluster; URI is path and query.
	Handle, URI string
	// Table requests a Table.
	Table bool
	// Method is empty for a read. Body is what a write sends, of type ContentType.
	Method, ContentType string
	Body                []byte
	// Readiness is the version of Kubernetes about which the agent itself is asked;
	// empty for a request to the API server.
	Readiness string
	// Credential is the service about whose cluster the agent itself is asked.
	Credential string
	// observe is what the agent itself is asked about metrics, logs and alerts.
	observe *agentv1.ObserveQuestion
	// Cut unblocks a write to the caller; it may be nil.
	Cut func()
	// Paced is for a log whose taker may wait for others, and looks by itself whether the
	// caller reads.
	Paced bool
}

// Answer is an API server's successful answer.
type Answer struct {
	Text []byte
	// Warnings are the texts of its Warning headers.
	Warnings []string
}

// Pages makes the requests of pages, which come as calls of the API and not as
// requests to forward: with the same checks and records as those.
type Pages struct {
	proxy *Proxy
}

// NewPages returns the requests of pages through p.
func NewPages(p *Proxy) *Pages { return &Pages{p} }

// exchange is one request whose answer is successful. end must be called.
type exchange struct {
	body     io.Reader
	answer   *agentv1.StreamAnswer
	warnings []string
	live     *live
	end      func(*error)
}

// ask makes one request.
func (g *Pages) ask(ctx context.Context, q Asking) (*exchange, error) {
	if err := kubereq.CheckPath(q.URI); err != nil {
		return nil, err
	}
	accept, method := "application/json", q.Method
	if q.Table {
		accept = asTable
	}
	if method == "" {
		method = http.MethodGet
	}
	a := &parsedRequest{handle: q.Handle, caller: q.Caller, source: q.Source, info: kubereq.Parse(method, q.URI, ""), head: &agentv1.StreamHead{
		Method: method, RequestUri: q.URI, RequestId: requestID(), ContentLength: int64(len(q.Body)),
		Headers: []*agentv1.StreamHeader{{Name: "Accept", Values: []string{accept}}, {Name: "X-Forwarded-For", Values: []string{q.Source}}},
	}}
	switch {
	case method == http.MethodGet && !a.info.Reads():
		return nil, errcode.New(errcode.Invalid, "this call can only read, and %s %s is not a read", a.info.Action(), a.info.Kind())
	case a.info.Connects() || method != http.MethodGet && (!a.info.IsResource() || a.info.Verb == "deletecollection"):
		return nil, errcode.New(errcode.Invalid, "this call changes one object, and %s %s is not that", a.info.Action(), a.info.Kind())
	}
	if q.Readiness != "" {
		a.head.Readiness = &agentv1.ReadinessQuestion{To: q.Readiness}
	}
	if q.Credential != "" {
		a.head.Credential = &agentv1.CredentialQuestion{ServiceId: q.Credential}
	}
	a.head.Observe = q.observe
	if len(q.Body) > 0 {
		a.head.Headers = append(a.head.Headers, &agentv1.StreamHeader{Name: "Content-Type", Values: []string{q.ContentType}})
	}
	var err error
	if a.cluster, err = g.proxy.cluster(ctx, q.Handle); err != nil {
		return nil, err
	}
	if err := g.proxy.allow(ctx, a); err != nil {
		return nil, err
	}
	return g.opened(ctx, a, q)
}

// While returns a context that ends as a stream to the cluster would, with what the caller may
// read there, for one to elsewhere that is about the cluster. end is to be called.
func (g *Pages) While(ctx context.Context, q Asking) (during context.Context, end func(), err error) {
	a := &parsedRequest{handle: q.Handle, caller: q.Caller, source: q.Source, info: kubereq.Parse(http.MethodGet, q.URI, ""), head: &agentv1.StreamHead{}}
	if a.cluster, err = g.proxy.cluster(ctx, q.Handle); err == nil {
		err = g.proxy.allow(ctx, a)
	}
	if err != nil {
		return nil, nil, err
	}
	during, cancel := context.WithCancelCause(ctx)
	l := a.live(cancel)
	g.proxy.streams.add(l)
	return during, func() {
		g.proxy.streams.remove(l)
		cancel(nil)
	}, nil
}

// opened is the second half of ask, from the audit record on.
func (g *Pages) opened(ctx context.Context, a *parsedRequest, q Asking) (*exchange, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	t, err := g.proxy.begin(ctx, a)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	l := a.live(cancel)
	l.cut = func() {
		// A caller who reads gets the reason instead.
		if q.Cut != nil && l.waits.Load() != 0 {
			q.Cut()
		}
	}
	var s Stream
	end := func(err *error) {
		if *err != nil {
			*err = reasonOf(ctx, *err)
		}
		t.end(ctx, *err)
		g.proxy.streams.remove(l)
		if s != nil {
			s.Close()
		}
		cancel(nil)
	}
	g.proxy.streams.add(l)
	if s, err = g.proxy.openTo(ctx, a); err == nil && len(q.Body) > 0 {
		_, err = s.Write(q.Body)
		t.up.Add(int64(len(q.Body)))
	}
	if err == nil {
		err = s.CloseWrite()
	}
	var answer *agentv1.StreamAnswer
	if err == nil {
		answer, err = s.Answer(ctx)
	}
	if err == nil {
		t.status = int(answer.GetStatus())
		if header(answer, passed) == "" {
			err = a.hint(refusal(answer, s))
		}
	}
	if err != nil {
		end(&err)
		return nil, err
	}
	return &exchange{body: counted{s, t}, answer: answer, warnings: warnings(answer), live: l, end: end}, nil
}

// warning is the form of an API server's warning: code, agent and a quoted text.
var warning = regexp.MustCompile(`^299 \S+ "((?:[^"\\]|\\.)*)"`)

var unescape = regexp.MustCompile(`\\(.)`)

// warnings returns the texts of an answer's Warning headers.
func warnings(answer *agentv1.StreamAnswer) (texts []string) {
	for _, h := range answer.GetHeaders() {
		if http.CanonicalHeaderKey(h.GetName()) != "Warning" {
			continue
		}
		for _, value := range h.GetValues() {
			if m := warning.FindStringSubmatch(value); m != nil {
				texts = append(texts, unescape.ReplaceAllString(m[1], "$1"))
			}
		}
	}
	return texts
}

// to passes a piece on to the caller. A caller who does not take it is ended by
// Proxy.look.
func (x *exchange) to(now int64, pass func() error) error {
	x.live.waits.Store(now + 1)
	defer x.live.waits.Store(0)
	return pass()
}

// counted counts the bytes that were read.
type counted struct {
	io.Reader
	trail *auditTrail
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.trail.down.Add(int64(n))
	return n, err
}

// refusal converts an API server's refusal into an error with its reason and
// message, in the words of kubectl.
func refusal(answer *agentv1.StreamAnswer, body io.Reader) error {
	status := answer.GetStatus()
	if status >= 200 && status < 300 {
		return nil
	}
	var said struct {
		Reason  string `json:"reason"`
		Message string `json:"message"`
	}
	text, err := io.ReadAll(io.LimitReader(body, 64<<10))
	if err == nil && json.Unmarshal(text, &said) != nil {
		said.Message = string(text[:min(len(text), 200)])
	}
	code := errcode.Code(resultOf(int(status), nil))
	if code == "ok" || code == errcode.Internal || code == errcode.Unauthorized {
		code = errcode.Unavailable
	}
	if said.Reason == "" {
		return errcode.New(code, "the cluster answered %d: %s", status, said.Message)
	}
	return errcode.New(code, "Error from server (%s): %s", said.Reason, said.Message)
}

// Do returns the API server's complete answer to a request.
func (g *Pages) Do(ctx context.Context, q Asking) (answer Answer, err error) {
	x, err := g.ask(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	defer func() { x.end(&err) }()
	answer.Warnings = x.warnings
	answer.Text, err = io.ReadAll(io.LimitReader(x.body, maxObjects+1))
	if err == nil && len(answer.Text) > maxObjects {
		err = errcode.New(errcode.Unprocessable, "the answer is larger than %d MiB; request fewer objects at a time with a limit", maxObjects>>20)
	}
	return answer, err
}

// Event is a change of an object.
type Event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// Watch calls each for every event until it returns an error or the watch ends.
// The end of a watch is not an error, because an API server ends each after a
// while.
func (g *Pages) Watch(ctx context.Context, q Asking, each func(Event) error) (err error) {
	x, err := g.ask(ctx, q)
	if err != nil {
		return err
	}
	defer func() { x.end(&err) }()
	return events(x.body, func(e Event) error {
		return x.to(g.proxy.streams.now.Load(), func() error { return each(e) })
	})
}

// events reads the lines of a watch.
func events(body io.Reader, each func(Event) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return errcode.New(errcode.Unavailable, "the cluster sent an invalid event: %w", err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return errcode.New(errcode.Unprocessable, "an object is larger than %d MiB", maxEvent>>20)
		}
		return err
	}
	return nil
}

// Logs calls each with whole lines of a log until it returns an error or the log
// ends. One caller reads at most 60 at once.
func (g *Pages) Logs(ctx context.Context, q Asking, each func(lines []byte) error) (err error) {
	held, err := g.proxy.logs.Take(q.Caller.Sharing())
	if err != nil {
		return err
	}
	defer held.Leave()
	x, err := g.ask(ctx, q)
	if err != nil {
		return err
	}
	defer func() { x.end(&err) }()
	buffer, have := make([]byte, logPiece), 0
	for {
		n, rerr := x.body.Read(buffer[have:])
		have += n
		whole := bytes.LastIndexByte(buffer[:have], '\n') + 1
		if whole == 0 && (have == len(buffer) || rerr != nil) {
			whole = have
		}
		if whole > 0 {
			if q.Paced {
				err = each(buffer[:whole])
			} else {
				err = x.to(g.proxy.streams.now.Load(), func() error { return each(buffer[:whole]) })
			}
			if err != nil {
				return err
			}
			have = copy(buffer, buffer[whole:have])
		}
		if rerr != nil && have > 0 {
			continue // the last line has no end
		}
		if errors.Is(rerr, io.EOF) {
			return nil
		}
		if rerr != nil {
			return rerr
		}
	}
}
