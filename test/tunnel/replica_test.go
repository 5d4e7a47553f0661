package tunnel_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/wsconn"
)

// members are the replicas that one of them sees.
type members struct {
	self string
	all  *crowd
}

// crowd is the present replicas.
type crowd struct {
	mu   sync.Mutex
	urls map[string]string
}

func (m members) Others() (others []peer.Replica) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	for name, u := range m.all.urls {
		if name != m.self {
			others = append(others, peer.Replica{Name: name, URL: u, Alive: true})
		}
	}
	return others
}

func (m members) Named(name string) (peer.Replica, bool) {
	m.all.mu.Lock()
	defer m.all.mu.Unlock()
	u, ok := m.all.urls[name]
	return peer.Replica{Name: name, URL: u, Alive: ok}, ok
}

var peerKey = []byte("a key that only replicas have")

// startReplicas starts hubs that know each other.
func startReplicas(t testing.TB, d *directory, names ...string) (*crowd, map[string]*hub) {
	t.Helper()
	all := &crowd{urls: map[string]string{}}
	hubs := map[string]*hub{}
	for _, name := range names {
		hubs[name] = startHub(t, d, replica(name, all))
	}
	for name, h := range hubs {
		all.join(name, h.url())
	}
	return all, hubs
}

// replica makes a hub one of a crowd.
func replica(name string, all *crowd) func(*hubConfig) {
	return func(c *hubConfig) {
		c.Replica, c.Replicas, c.PeerKey, c.PeerClock = name, members{name, all}, peerKey, clock.Real{}
	}
}

func (c *crowd) join(name, url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.urls[name] = url
}

func (c *crowd) leave(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.urls, name)
}

// TestAnyReplicaServesAnyCluster asks the replica that has no connection.
func TestAnyReplicaServesAnyCluster(t *testing.T) {
	t.Parallel()
	d := newDirectory("c1")
	_, hubs := startReplicas(t, d, "hub-0", "hub-1")
	startAgent(t, dialer(hubs["hub-0"].url(), transportFor(hubs["hub-0"].server), "c1"), flood, nil)
	// The other one receives the message.
	up(t, hubs["hub-1"], "c1")
	for _, text := range []string{"", "x", big} {
		mustAsk(t, hubs["hub-1"], "c1", text)
	}
	s, err := hubs["hub-1"].Open(t.Context(), "c1", head("ann", 1, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Answer(t.Context())
	if err != nil || a.GetHeaders()[0].GetValues()[0] != "ann" {
		t.Errorf("the cluster was asked by %v, %v", a.GetHeaders(), err)
	}
	for n := range 20 {
		defer stall(t, hubs["hub-1"], "c1", n).Close()
	}
	mustAsk(t, hubs["hub-1"], "c1", big[:1<<20])
	if _, err := hubs["hub-1"].Open(t.Context(), "c2", head("ann", 0, "")); !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "has no tunnel") {
		t.Errorf("a cluster that nobody has: %v", err)
	}
}

// TestFailuresComeThroughAReplica carries the words of the agent, and limits.
func TestFailuresComeThroughAReplica(t *testing.T) {
	t.Parallel()
	_, hubs := startReplicas(t, newDirectory("c1"), "hub-0", "hub-1")
	startAgent(t, dialer(hubs["hub-0"].url(), transportFor(hubs["hub-0"].server), "c1"), func(_ context.Context, s *agentStream) {
		if s.Head().GetUpgrade() == "late" {
			if s.Answer(&agentv1.StreamAnswer{Status: 200}) != nil {
				return
			}
			_, _ = s.Write([]byte("half"))
		}
		failWith(s, "the API server went away")
	}, nil)
	for name, h := range hubs {
		up(t, h, "c1")
		if _, err := ask(t.Context(), h, "c1", ""); err == nil || err.Error() != "the API server went away" {
			t.Errorf("%s: no answer, because %v", name, err)
		}
		s, err := h.Open(t.Context(), "c1", head("ann", 0, "late"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Answer(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(s); string(got) != "half" || err == nil || err.Error() != "the API server went away" {
			t.Errorf("%s: %q and then %v", name, got, err)
		}
	}
}

// TestReplicaDeathKeepsOthers stops one replica of three: streams that do not use it
// continue, and its clusters reconnect elsewhere.
func TestReplicaDeathKeepsOthers(t *testing.T) {
	t.Parallel()
	d := newDirectory("c0", "c1")
	all, hubs := startReplicas(t, d, "hub-0", "hub-1", "hub-2")
	// c0 dials hub-0, and hub-1 when that is gone; c1 is at hub-1.
	startAgent(t, func(ctx context.Context) (c net.Conn, err error) {
		for _, name := range []string{"hub-0", "hub-1"} {
			if _, there := (members{"", all}).Named(name); there {
				return dialer(hubs[name].url(), transportFor(hubs[name].server), "c0")(ctx)
			}
		}
		return nil, errNever
	}, flood, nil)
	startAgent(t, dialer(hubs["hub-1"].url(), transportFor(hubs["hub-1"].server), "c1"), flood, nil)
	up(t, hubs["hub-2"], "c0")
	up(t, hubs["hub-2"], "c1")
	lost, kept, direct := stall(t, hubs["hub-2"], "c0", 0), stall(t, hubs["hub-2"], "c1", 0), stall(t, hubs["hub-1"], "c1", 0)
	defer lost.Close()
	defer kept.Close()
	defer direct.Close()

	all.leave("hub-0")
	hubs["hub-0"].stop()
	if _, err := io.Copy(io.Discard, lost); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("the stream through the dead replica ends with %v", err)
	}
	for name, s := range map[string]*hubStream{"forwarded": kept, "direct": direct} {
		if _, err := io.CopyN(io.Discard, s, 2<<20); err != nil {
			t.Errorf("the %s stream of the other cluster: %v", name, err)
		}
	}
	up(t, hubs["hub-1"], "c0")
	up(t, hubs["hub-2"], "c0")
	mustAsk(t, hubs["hub-2"], "c0", "after")
}

// TestWordOfADeadReplicaDoesNotCount looks at a tunnel whose replica is gone
// without a word, and is there again.
func TestWordOfADeadReplicaDoesNotCount(t *testing.T) {
	t.Parallel()
	all, hubs := startReplicas(t, newDirectory("c1"), "hub-0", "hub-1")
	startAgent(t, dialer(hubs["hub-0"].url(), transportFor(hubs["hub-0"].server), "c1"), echo, nil)
	up(t, hubs["hub-1"], "c1")
	all.leave("hub-0")
	// Nothing arrived that contradicts it.
	if s, _ := hubs["hub-1"].State("c1"); s != isDown {
		t.Errorf("the tunnel of a replica that is gone is %s", s)
	}
	if _, err := ask(t.Context(), hubs["hub-1"], "c1", ""); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("a request to it: %v", err)
	}
	all.join("hub-0", hubs["hub-0"].url())
	if s, _ := hubs["hub-1"].State("c1"); s != isUp {
		t.Errorf("once it is there again it is %s", s)
	}
	mustAsk(t, hubs["hub-1"], "c1", "again")
}

// TestReplicaThatComesBackIsDialledAnew replaces a replica by one with the same name,
// as a restart does: no requests go over the connection to the dead one.
func TestReplicaThatComesBackIsDialledAnew(t *testing.T) {
	t.Parallel()
	d := newDirectory("c1")
	all, hubs := startReplicas(t, d, "hub-0", "hub-1")
	startAgent(t, func(ctx context.Context) (net.Conn, error) {
		at, there := (members{"", all}).Named("hub-0")
		if !there {
			return nil, errNever
		}
		return dialer(at.URL, transportFor(hubs["hub-1"].server), "c1")(ctx)
	}, echo, nil)
	up(t, hubs["hub-1"], "c1")
	mustAsk(t, hubs["hub-1"], "c1", "before")
	all.leave("hub-0")
	hubs["hub-0"].stop()
	next := startHub(t, d, replica("hub-0", all))
	all.join("hub-0", next.url())
	up(t, next, "c1")
	up(t, hubs["hub-1"], "c1")
	// The end of the old connection may be under way yet.
	eventually.For(t, soon, "the new replica is asked", func() error {
		got, err := ask(t.Context(), hubs["hub-1"], "c1", "after")
		if err == nil && got != "after" {
			return fmt.Errorf("%q came back", got)
		}
		return err
	})
}

// TestForgedCallsBetweenReplicasAreRefused signs with another key, changes the
// caller, and sends a signature twice.
func TestForgedCallsBetweenReplicasAreRefused(t *testing.T) {
	t.Parallel()
	_, hubs := startReplicas(t, newDirectory("c1"), "hub-0")
	h := hubs["hub-0"]
	startAgent(t, dialer(h.url(), transportFor(h.server), "c1"), echo, nil)
	up(t, h, "c1")
	const link = "/peer/v1/tunnels/link"
	one := agentTransport(&http.Transport{})
	good := &peer.Signer{Key: peerKey, Replica: "hub-9", Clock: clock.Real{}, Next: one}
	for name, via := range map[string]http.RoundTripper{
		"unsigned": one, "another key": &peer.Signer{Key: []byte("another"), Replica: "hub-9", Clock: clock.Real{}, Next: one},
		"an old signature": &peer.Signer{Key: peerKey, Replica: "hub-9", Clock: clock.NewManual(time.Now().Add(-time.Hour)), Next: one},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url()+link, nil)
		if err != nil {
			t.Fatal(err)
		}
		conn, answer, err := wsconn.Dial(t.Context(), via, r, "axle.tunnel.v1")
		if err != nil || conn != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: a link was given, %v", name, err)
		}
		if answer != nil {
			answer.Body.Close()
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url()+link, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err := wsconn.Dial(t.Context(), good, r, "axle.tunnel.v1")
	if err != nil || conn == nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	along := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
	defer along.CloseIdleConnections()
	send := func(nonce, signed, sent string, signer *peer.Signer) int {
		t.Helper()
		uri := "/stream?" + url.Values{"cluster": {"c1"}, "nonce": {nonce}}.Encode()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://tunnel"+uri, bytes.NewReader(frameOf(t, head(sent, 0, ""))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(peer.PartHeader, signer.Part(http.MethodPost, uri, frameOf(t, head(signed, 0, ""))))
		answer, err := along.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	bad := &peer.Signer{Key: []byte("another"), Replica: "hub-9", Clock: clock.Real{}}
	for name, c := range map[string]struct{ got, want int }{
		"as it should be": {send("1", "ann", "ann", good), http.StatusOK},
		"once more":       {send("1", "ann", "ann", good), http.StatusUnauthorized},
		"another caller":  {send("2", "ann", "admin", good), http.StatusUnauthorized},
		"another key":     {send("3", "ann", "ann", bad), http.StatusUnauthorized},
		"without a nonce": {send("", "ann", "ann", good), http.StatusUnauthorized},
		"nobody's name":   {send("4", "", "", good), http.StatusInternalServerError},
	} {
		if c.got != c.want {
			t.Errorf("%s: HTTP %d, want %d", name, c.got, c.want)
		}
	}
}

func frameOf(t testing.TB, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}
