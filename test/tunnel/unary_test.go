package tunnel_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/internal/unary"
	"github.com/axle-cd/axle/internal/wsconn"
)

// short is the head of a GET whose answer may be one frame.
func short(uri string) *agentv1.StreamHead {
	h := head("ann", 0, "")
	h.RequestUri, h.ShortAnswer = uri, true
	return h
}

// sized answers with as many bytes as the path says, in pieces of 1,000.
func sized(_ context.Context, s *agentStream) {
	var size int
	if _, err := fmt.Sscanf(s.Head().GetRequestUri(), "/%d", &size); err != nil {
		failWith(s, err.Error())
		return
	}
	if s.Begin(&agentv1.StreamAnswer{Status: 200}) != nil {
		return
	}
	for rest := text(size); rest != ""; {
		n := min(1000, len(rest))
		if _, err := io.WriteString(s, rest[:n]); err != nil {
			return
		}
		rest = rest[n:]
	}
}

func text(size int) string {
	return strings.Repeat("all that goes comes back ", size/25+1)[:size]
}

// TestAnswersOfAllLengthsAreWhole asks for what fits into a frame, what does not
// quite and what does not at all, one after the other and many at once.
func TestAnswersOfAllLengthsAreWhole(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), sized, nil)
	up(t, h, "c1")
	sizes := []int{0, 1, 4096, unary.MaxAnswer - 1000, unary.MaxAnswer, unary.MaxAnswer + 1, 1 << 20}
	ask := func(size int) {
		if got := h.read(t, "c1", short(fmt.Sprintf("/%d", size))); got != text(size) {
			t.Errorf("%d bytes came of %d", len(got), size)
		}
	}
	for _, size := range sizes {
		ask(size)
	}
	var all sync.WaitGroup
	for n := range 150 {
		all.Go(func() { ask(sizes[n%len(sizes)]) })
	}
	all.Wait()
}

// frameAgent is an agent of the present version that the test controls: a short
// request must arrive in a frame, and it answers as the test requires.
type frameAgent struct {
	firstAgent
	joined *wsconn.Joined
	// came gets each frame of the hub, streams counts its streams.
	came    chan frameOfHub
	streams atomic.Int64
}

type frameOfHub struct {
	kind    unary.Kind
	number  uint32
	content []byte
}

func runFrameAgent(t *testing.T, h *hub) *frameAgent {
	t.Helper()
	a := &frameAgent{firstAgent: firstAgent{t: t, version: 3}, came: make(chan frameOfHub, 100)}
	conn, err := dialer(h.url(), transportFor(h.server), "c1")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.joined = wsconn.Join(conn, false)
	a.joined.Receive(unary.MaxFrame, func(kind byte, payload []byte) {
		n, content, err := unary.Parse(payload)
		if err != nil {
			t.Error(err)
		}
		a.came <- frameOfHub{unary.Kind(kind), n, content}
	})
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	_, control := agentv1connect.NewTunnelServiceHandler(a)
	server := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			a.streams.Add(1)
		}
		control.ServeHTTP(w, r)
	})}
	listener := &single{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conns <- a.joined
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { _ = server.Close(); serving.Wait(); _ = conn.Close() })
	up(t, h, "c1")
	return a
}

func (a *frameAgent) say(kind unary.Kind, number uint32, content string) {
	if err := a.joined.Send(byte(kind), unary.Frame(number, []byte(content))); err != nil {
		a.t.Error(err)
	}
}

// answered is the content of an answer.
func answered(t *testing.T, status int32, body string) string {
	var b strings.Builder
	if err := frame.Write(&b, &agentv1.StreamAnswer{Status: status}); err != nil {
		t.Fatal(err)
	}
	return b.String() + body
}

// TestShortRequestIsOneFrameEachWay: no stream is opened for it, unexpected frames
// change nothing, and a caller that gives up sends a cancel.
func TestShortRequestIsOneFrameEachWay(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	a := runFrameAgent(t, h)
	var asking sync.WaitGroup
	asking.Go(func() {
		if got := h.read(t, "c1", short("/api/v1")); got != "the answer" {
			t.Errorf("it was answered with %q", got)
		}
	})
	asked := <-a.came
	head := &agentv1.StreamHead{}
	if err := frame.Read(strings.NewReader(string(asked.content)), head); err != nil || asked.kind != unary.Ask || head.GetRequestUri() != "/api/v1" || head.GetIdentity().GetUser() != "ann" {
		t.Fatalf("the agent was asked %+v: %v, %v", asked, head, err)
	}
	a.say(unary.Answer, asked.number+1, answered(t, 200, "for somebody else"))
	a.say(99, asked.number+1, "")
	a.say(unary.Answer, asked.number, answered(t, 200, "the answer"))
	a.say(unary.Answer, asked.number, answered(t, 200, "another one"))
	asking.Wait()

	for name, c := range map[string]struct {
		kind    unary.Kind
		content string
		want    string
	}{
		"a failure":          {unary.Failed, "the API server is away", "the API server is away"},
		"no answer":          {unary.Answer, "", "cluster c1 gave no answer"},
		"half a head":        {unary.Answer, answered(t, 200, "")[:5], "the tunnel to cluster c1 broke off; try again"},
		"none of what it is": {unary.Ask, "", "the tunnel to cluster c1 broke off; try again"},
	} {
		failed := make(chan error, 1)
		go func() {
			s, err := h.Open(t.Context(), "c1", short("/api"))
			if err == nil {
				defer s.Close()
				_, err = s.Answer(t.Context())
			}
			failed <- err
		}()
		a.say(c.kind, (<-a.came).number, c.content)
		if err := <-failed; !errcode.Is(err, errcode.Unavailable) || errcode.Message(err) != c.want {
			t.Errorf("%s: the caller hears %v", name, err)
		}
	}

	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		s, err := h.Open(ctx, "c1", short("/slow"))
		if err == nil {
			defer s.Close()
			_, err = s.Answer(ctx)
		}
		left <- err
	}()
	asked = <-a.came
	leave()
	if err := <-left; !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("who left hears %v", err)
	}
	if over := <-a.came; over.kind != unary.Cancel || over.number != asked.number {
		t.Errorf("the agent was told %+v", over)
	}
	if n := a.streams.Load(); n != 0 {
		t.Errorf("%d streams were opened", n)
	}
}

// TestShortRequestEndsWithWhoeverGoes: the caller, the connection, the agent.
func TestShortRequestEndsWithWhoeverGoes(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	l := newLine(t, h.server.Listener.Addr().String())
	begun, ended := make(chan struct{}, 10), make(chan error, 10)
	a := startAgent(t, dialer("https://"+l.addr(), transportFor(h.server), "c1"), func(ctx context.Context, s *agentStream) {
		if strings.HasPrefix(s.Head().GetRequestUri(), "/long") && (s.Answer(&agentv1.StreamAnswer{Status: 200}) != nil) {
			ended <- errors.New("nobody took the answer")
			return
		}
		begun <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
	}, nil)
	up(t, h, "c1")
	for n, uri := range []string{"/short", "/long"} {
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		ask := func(ctx context.Context) {
			s, err := h.Open(ctx, "c1", short(uri))
			if err == nil {
				defer s.Close()
				if _, err = s.Answer(ctx); err == nil {
					_, err = io.Copy(io.Discard, s)
				}
			}
			gone <- err
		}
		go ask(ctx)
		<-begun
		leave()
		if err := <-gone; !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%s: who left hears %v", uri, err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: whoever serves it ends with %v", uri, err)
		}
		go ask(t.Context())
		<-begun
		l.cut()
		if err := <-gone; !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%s: after a cut the caller hears %v", uri, err)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: after a cut whoever serves it ends with %v", uri, err)
		}
		dials(t, a, int64(n+2))
		up(t, h, "c1")
	}
}

// TestAnswerThatTakesItsTimeComesPieceByPiece: data that an agent flushes arrives,
// even if a frame was to hold it.
func TestAnswerThatTakesItsTimeComesPieceByPiece(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	next := make(chan string)
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), func(_ context.Context, s *agentStream) {
		if s.Begin(&agentv1.StreamAnswer{Status: 200}) != nil {
			return
		}
		for piece := range next {
			if _, err := io.WriteString(s, piece); err != nil || s.Flush() != nil {
				return
			}
		}
		failWith(s, "that was all")
	}, nil)
	up(t, h, "c1")
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	s, err := h.Open(ctx, "c1", short("/events"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	go func() { next <- "one" }()
	if _, err := s.Answer(ctx); err != nil {
		t.Fatal(err)
	}
	for n, piece := range []string{"one", "two", "three"} {
		if n > 0 {
			next <- piece
		}
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(s, got); err != nil || string(got) != piece {
			t.Fatalf("%q came, %v", got, err)
		}
	}
	close(next)
	if _, err := io.ReadAll(s); !errcode.Is(err, errcode.Unavailable) || errcode.Message(err) != "that was all" {
		t.Errorf("the end is %v", err)
	}
}

// TestPanicEndsOneRequest: the request that panicked fails, and the agent continues.
func TestPanicEndsOneRequest(t *testing.T) {
	t.Parallel()
	h := startHub(t, newDirectory("c1"), nil)
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), func(ctx context.Context, s *agentStream) {
		switch uri := s.Head().GetRequestUri(); uri {
		case "/long":
			if s.Answer(&agentv1.StreamAnswer{Status: 200}) != nil {
				return
			}
			fallthrough
		case "/short":
			panic("this is what the test is for")
		default:
			sized(ctx, s)
		}
	}, nil)
	up(t, h, "c1")
	for _, uri := range []string{"/short", "/long"} {
		s, err := h.Open(t.Context(), "c1", short(uri))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Answer(t.Context()); err == nil {
			_, err = io.Copy(io.Discard, s)
		}
		if err := errors.Join(s.Close(), err); !errcode.Is(err, errcode.Unavailable) {
			t.Errorf("%s: the caller hears %v", uri, err)
		}
	}
	if got := h.read(t, "c1", short("/100")); got != text(100) {
		t.Errorf("afterwards %q came", got)
	}
}
