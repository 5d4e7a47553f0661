package authproxy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

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
	// asTable requests what kubectl prints.
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
)

// Asking is a read by a caller who was authorized elsewhere.
type Asking struct {
	Caller identity.Principal
	// Source is the caller's address.
	Source string
	// Handle names the cluster; URI is path and query.
	Handle, URI string
	// Table requests a Table.
	Table bool
}

// get opens a stream for a read. The answer is successful; the caller must call
// its end function.
func (p *Proxy) get(ctx context.Context, q Asking) (stream io.Reader, end func(*error), err error) {
	if err := kubereq.CheckPath(q.URI); err != nil {
		return nil, nil, err
	}
	accept := "application/json"
	if q.Table {
		accept = asTable
	}
	a := &parsedRequest{handle: q.Handle, caller: q.Caller, source: q.Source, info: kubereq.Parse(http.MethodGet, q.URI), head: &agentv1.StreamHead{
		Method: http.MethodGet, RequestUri: q.URI, RequestId: requestID(),
		Headers: []*agentv1.StreamHeader{{Name: "Accept", Values: []string{accept}}, {Name: "X-Forwarded-For", Values: []string{q.Source}}},
	}}
	if !a.info.Reads() {
		return nil, nil, errcode.New(errcode.Invalid, "this call can only read, and %s %s is not a read", a.info.Action(), a.info.Kind())
	}
	if a.cluster, err = p.cluster(ctx, q.Handle); err != nil {
		return nil, nil, err
	}
	if err := p.allow(ctx, a); err != nil {
		return nil, nil, err
	}
	return p.opened(ctx, a)
}

// opened is the second half of get, from the audit record on.
func (p *Proxy) opened(ctx context.Context, a *parsedRequest) (io.Reader, func(*error), error) {
	ctx, cancel := context.WithCancelCause(ctx)
	t, err := p.begin(ctx, a)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	l := &live{tokenID: a.caller.TokenID, cluster: a.cluster, cancel: cancel}
	var s Stream
	end := func(err *error) {
		if *err != nil {
			*err = reasonOf(ctx, *err)
		}
		t.end(ctx, *err)
		p.streams.remove(l)
		if s != nil {
			s.Close()
		}
		cancel(nil)
	}
	p.streams.add(l)
	if s, err = p.openTo(ctx, a); err == nil {
		err = s.CloseWrite()
	}
	var answer *agentv1.StreamAnswer
	if err == nil {
		answer, err = s.Answer(ctx)
	}
	if err == nil {
		t.status = int(answer.GetStatus())
		err = refusal(answer, s)
	}
	if err != nil {
		end(&err)
		return nil, nil, err
	}
	return counted{s, t}, end, nil
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

// refusal converts an API server's refusal into an error with its message.
func refusal(answer *agentv1.StreamAnswer, body io.Reader) error {
	status := answer.GetStatus()
	if status == http.StatusOK {
		return nil
	}
	var said struct {
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
	return errcode.New(code, "the cluster answered %d: %s", status, said.Message)
}

// Objects returns the API server's complete answer to a read.
func (p *Proxy) Objects(ctx context.Context, q Asking) (text []byte, err error) {
	stream, end, err := p.get(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { end(&err) }()
	text, err = io.ReadAll(io.LimitReader(stream, maxObjects+1))
	if err == nil && len(text) > maxObjects {
		err = errcode.New(errcode.Unprocessable, "the answer is larger than %d MiB; request fewer objects at a time with a limit", maxObjects>>20)
	}
	return text, err
}

// Event is a change of an object.
type Event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// Watch calls each for every event until it returns an error or the watch ends.
// The end of a watch is not an error, because an API server ends each after a
// while.
func (p *Proxy) Watch(ctx context.Context, q Asking, each func(Event) error) (err error) {
	stream, end, err := p.get(ctx, q)
	if err != nil {
		return err
	}
	defer func() { end(&err) }()
	lines := bufio.NewScanner(stream)
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
