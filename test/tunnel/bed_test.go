package tunnel_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// soon is generous: conditions are judged, not times.
const soon = 60 * time.Second

// directory holds tokens, lists and a feed: the input of the hub's tunnels.
type directory struct {
	mu     sync.Mutex
	tokens map[string]string // bearer -> cluster
	etags  map[string]string
}

func newDirectory(clusters ...string) *directory {
	d := &directory{tokens: map[string]string{}, etags: map[string]string{}}
	for _, c := range clusters {
		d.tokens["axle_"+c], d.etags[c] = c, "1"
	}
	return d
}

func (d *directory) Authenticate(_ context.Context, bearer string) (identity.Principal, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c, ok := d.tokens[bearer]
	if !ok {
		return identity.Principal{}, errcode.New(errcode.Unauthorized, "the token is not known")
	}
	return identity.Principal{Kind: identity.KindCluster, ID: c, Name: c, TokenID: bearer}, nil
}

func (d *directory) DeployToken(id, cluster string) (good, others bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for bearer, c := range d.tokens {
		others = others || c == cluster
		good = good || bearer == id
	}
	return good, others
}

func (d *directory) ETag(cluster string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.etags[cluster], nil
}

func (d *directory) Position() event.Position       { return event.Position{Incarnation: "i", Sequence: 7} }
func (d *directory) Incarnation() event.Incarnation { return event.Incarnation{ID: "i"} }
func (d *directory) CatchUp(context.Context, event.Position, func(context.Context) error) error {
	return nil
}
func (d *directory) set(do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	do()
}

// hub is one replica's tunnels behind a listener.
type hub struct {
	*hubTunnels
	server *httptest.Server
	stop   func()
}

func (h *hub) url() string { return h.server.URL }

// startHub serves tunnels with TLS; adapt may change the configuration.
func startHub(t testing.TB, d *directory, adapt func(*hubConfig)) *hub {
	t.Helper()
	c := hubConfig{Identity: d, Desired: d, Feed: d, Replica: "hub-0", Sweep: 50 * time.Millisecond, Drain: 50 * time.Millisecond}
	if adapt != nil {
		adapt(&c)
	}
	tunnels, err := newHubTunnels(c)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+hubPath, tunnels)
	if c.PeerKey != nil {
		tunnels.PeerRoutes(mux, func(next http.Handler) http.Handler { return peer.Verify(c.PeerKey, c.PeerClock, next) })
	}
	h := &hub{hubTunnels: tunnels, server: httptest.NewUnstartedServer(mux)}
	if c.Replicas == nil {
		h.server.StartTLS()
	} else {
		h.server.Start()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := tunnels.Run(ctx); err != nil {
			t.Errorf("tunnels: %v", err)
		}
	}()
	h.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		h.server.CloseClientConnections()
		h.server.Close()
	})
	t.Cleanup(h.stop)
	return h
}

// cluster is a function in place of a cluster.
type cluster func(ctx context.Context, s *agentStream)

func (c cluster) ServeStream(ctx context.Context, s *agentStream) { c(ctx, s) }

// echo answers 200 and sends the body back.
func echo(_ context.Context, s *agentStream) {
	if s.Answer(&agentv1.StreamAnswer{Status: 200, Headers: []*agentv1.StreamHeader{{Name: "User", Values: []string{s.Head().GetIdentity().GetUser()}}}}) != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := s.Read(buf)
		if n > 0 {
			if _, err := s.Write(buf[:n]); err != nil || s.Flush() != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// agent is a running agent's end.
type agent struct {
	*agentTunnel
	hints chan *agentv1.TunnelHint
	stop  func()
}

// transportFor trusts a test server.
func transportFor(h *httptest.Server) *http.Transport {
	pool := x509.NewCertPool()
	if h.Certificate() != nil {
		pool.AddCert(h.Certificate())
	}
	return agentTransport(&http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, TLSHandshakeTimeout: soon})
}

// startAgent runs a cluster's tunnel to where dial leads.
func startAgent(t testing.TB, dial func(context.Context) (net.Conn, error), serve cluster, adapt func(*agentConfig)) *agent {
	t.Helper()
	a := &agent{hints: make(chan *agentv1.TunnelHint, 100)}
	c := agentConfig{Dial: dial, Streams: serve, Hint: func(h *agentv1.TunnelHint) { a.hints <- h }, FirstWait: 50 * time.Millisecond}
	if adapt != nil {
		adapt(&c)
	}
	tunnel, err := newAgentTunnel(c)
	if err != nil {
		t.Fatal(err)
	}
	a.agentTunnel = tunnel
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = tunnel.Run(ctx)
	}()
	a.stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(a.stop)
	return a
}

func dialer(url string, transport http.RoundTripper, cluster string) func(context.Context) (net.Conn, error) {
	d := &agentDialer{URL: url, Transport: transport, Authorization: func() string { return "Bearer axle_" + cluster }}
	return d.Dial
}

// up waits until a hub holds a cluster's tunnel.
func up(t testing.TB, h *hub, cluster string) {
	t.Helper()
	state(t, h, cluster, isUp)
}

func state(t testing.TB, h *hub, cluster, want string) {
	t.Helper()
	eventually.For(t, soon, "the tunnel of "+cluster+" is "+want, func() error {
		if state, _ := h.State(cluster); state != want {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
}

func head(user string, length int64, upgrade string) *agentv1.StreamHead {
	return &agentv1.StreamHead{
		Identity: &agentv1.StreamIdentity{User: user}, Method: "GET", RequestUri: "/api", ContentLength: length, Upgrade: upgrade,
	}
}

// ask sends a text and returns the whole answer.
func ask(ctx context.Context, h *hub, cluster, text string) (string, error) {
	s, err := h.Open(ctx, cluster, head("ann", int64(len(text)), ""))
	if err != nil {
		return "", err
	}
	defer s.Close()
	go func() {
		if text != "" {
			if _, err := io.WriteString(s, text); err != nil {
				return // the reader hears of it
			}
		}
		_ = s.CloseWrite()
	}()
	a, err := s.Answer(ctx)
	if err != nil {
		return "", err
	}
	if a.GetStatus() != 200 {
		return "", fmt.Errorf("status %d", a.GetStatus())
	}
	body, err := io.ReadAll(s)
	return string(body), err
}

func mustAsk(t testing.TB, h *hub, cluster, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	got, err := ask(ctx, h, cluster, text)
	if err != nil || got != text {
		t.Fatalf("%d bytes came back of %d: %v", len(got), len(text), err)
	}
}

var big = strings.Repeat("all that goes comes back ", 200_000)

var errNever = errors.New("this must not happen")
