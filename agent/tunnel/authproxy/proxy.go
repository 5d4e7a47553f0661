package authproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/tunnel"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
	"github.com/axle-cd/axle/internal/logkey"
)

// Stream is one request of the hub; *tunnel.Stream implements it.
type Stream interface {
	wireReader
	wireWriter
	Head() *agentv1.StreamHead
	Answer(*agentv1.StreamAnswer) error
	// Begin is like Answer, but the head leaves with the next write.
	Begin(*agentv1.StreamAnswer) error
}

type wireReader interface {
	Read(p []byte) (int, error)
}

type wireWriter interface {
	Write(p []byte) (int, error)
	Flush() error
	Fail(why error)
}

// Config is what a Proxy needs. Only Rest is required.
type Config struct {
	// Rest reaches the API server as the agent itself, whose account needs the verb
	// impersonate.
	Rest   *rest.Config
	Policy Policy
	// Guard knows the credentials of other clusters that this one holds; nil knows none.
	Guard Guard
	Log   *slog.Logger
}

// Proxy serves the hub's streams.
type Proxy struct {
	policy     Policy
	guard      Guard
	base       *url.URL
	transports transports
	log        *slog.Logger
}

var _ tunnel.Handler = (*Proxy)(nil)

// New checks the policy and makes the connection pools; it dials nothing. Errors of
// the policy are Invalid.
func New(c Config) (*Proxy, error) {
	if c.Rest == nil {
		return nil, errors.New("authproxy: a proxy needs a way to its API server")
	}
	if err := c.Policy.Check(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Guard == nil {
		c.Guard = nothing{}
	}
	base, _, err := rest.DefaultServerUrlFor(c.Rest)
	if err != nil {
		return nil, fmt.Errorf("the API server's address: %w", err)
	}
	w, err := newTransports(c.Rest, hostOf(base.Host))
	if err != nil {
		return nil, err
	}
	return &Proxy{policy: c.Policy, guard: c.Guard, base: base, transports: w, log: c.Log}, nil
}

// Close closes idle connections.
func (p *Proxy) Close() { p.transports.close() }

// ServeStream implements tunnel.Handler.
func (p *Proxy) ServeStream(ctx context.Context, s *tunnel.Stream) { p.Serve(ctx, s) }

// Serve answers one request. It returns when both directions are done or ctx
// ends.
func (p *Proxy) Serve(ctx context.Context, s Stream) {
	head := s.Head()
	info, err := p.admit(head)
	if err != nil {
		p.refuse(ctx, s, err)
		return
	}
	if err := p.keep(ctx, head, info); err != nil {
		p.refuse(ctx, s, err)
		return
	}
	request, err := p.request(ctx, head, s)
	if err != nil {
		p.refuse(ctx, s, err)
		return
	}
	user, groups := p.policy.as(head.GetIdentity().GetUser(), head.GetIdentity().GetGroups())
	response, err := asUser{user, groups, p.transports.choose(request, info)}.RoundTrip(request)
	if err != nil {
		p.refuse(ctx, s, errcode.New(errcode.Unavailable, "the agent cannot reach its API server: %w", err))
		return
	}
	defer response.Body.Close()
	answer, err := p.answer(head, response)
	if err != nil {
		p.refuse(ctx, s, err)
		return
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		p.join(ctx, s, response, answer)
		return
	}
	begin := s.Answer
	if head.GetShortAnswer() || whole(info, response) {
		begin = s.Begin
	}
	if err := begin(answer); err != nil {
		return
	}
	relayBody(s, response, head.GetShortAnswer())
}

// wholeBytes is the maximum size of an answer that leaves together with its head.
const wholeBytes = 3 << 10

// whole reports whether an answer's body is short and complete: an API server that
// states the length of its own answer has all of it. A pod may state a length and
// then take its time.
func whole(info kubereq.Info, response *http.Response) bool {
	return response.ContentLength >= 0 && response.ContentLength <= wholeBytes && !info.Connects()
}

// admit rejects what must not reach the API server, regardless of earlier checks by
// others.
func (p *Proxy) admit(head *agentv1.StreamHead) (kubereq.Info, error) {
	if err := kubereq.CheckIdentity(head.GetIdentity().GetUser(), head.GetIdentity().GetGroups()); err != nil {
		return kubereq.Info{}, err
	}
	if err := kubereq.CheckPath(head.GetRequestUri()); err != nil {
		return kubereq.Info{}, err
	}
	info := kubereq.Parse(head.GetMethod(), head.GetRequestUri(), head.GetUpgrade())
	return info, p.policy.allow(info, head.GetIdentity().GetGroups())
}

// refuse answers in the API server's place.
func (p *Proxy) refuse(ctx context.Context, s Stream, err error) {
	if ctx.Err() != nil {
		return
	}
	p.log.LogAttrs(ctx, slog.LevelDebug, "refused a request of the hub", slog.String("request", s.Head().GetRequestId()), slog.Any(logkey.Error, err))
	code, body, after := kubereq.Status(err)
	headers := []*agentv1.StreamHeader{{Name: "Content-Type", Values: []string{"application/json"}}}
	if after > 0 {
		headers = append(headers, &agentv1.StreamHeader{Name: "Retry-After", Values: []string{fmt.Sprint(after)}})
	}
	if err := s.Answer(&agentv1.StreamAnswer{Status: int32(code), Headers: headers}); err != nil {
		return
	}
	// The client may be gone.
	_, _ = s.Write(body)
}
