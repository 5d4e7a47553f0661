package tunnel

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/wsconn"
)

const (
	// statePath receives other replicas' messages about their tunnels, LinkPath
	// the connections over which they forward streams.
	statePath = peer.Path + "tunnels/state"
	linkPath  = peer.Path + "tunnels/link"
	// tellWithin limits a message to another replica, and gather is how long
	// changes are collected before it.
	tellWithin = 5 * time.Second
	gather     = 200 * time.Millisecond
	// tellAll is how often everything is sent again, which repairs lost
	// messages. A replica's last message counts while the replica is alive.
	tellAll = 30 * time.Second
	// perLink limits streams over one connection between replicas.
	perLink = 400
	// linkIdle is how long a connection without streams is kept.
	linkIdle = 5 * time.Minute
)

// peers are the other replicas: the tunnels they hold, and connections to them.
type peers struct {
	t      *Tunnels
	http   *http.Client
	signer *peer.Signer
	dialer http.RoundTripper
	wake   chan struct{}
	server *peerServer

	mu    sync.Mutex
	dirty map[string]bool
	there map[string]map[string]state // by replica, then cluster
	links map[string][]*peerLink      // by replica
}

// told is a message from one replica to another.
type told struct {
	// Whole is set when no other cluster is Up there.
	Whole    bool             `json:"whole,omitempty"`
	Clusters map[string]state `json:"clusters,omitempty"`
}

func newPeers(t *Tunnels) *peers {
	p := &peers{t: t, wake: make(chan struct{}, 1), dirty: map[string]bool{}, there: map[string]map[string]state{}, links: map[string][]*peerLink{}}
	like, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		like = &http.Transport{}
	}
	one := like.Clone()
	one.ForceAttemptHTTP2, one.TLSNextProto = false, nil
	one.Protocols = new(http.Protocols)
	one.Protocols.SetHTTP1(true)
	p.signer = &peer.Signer{Key: t.config.PeerKey, Replica: t.config.Replica, Clock: t.config.PeerClock, Next: one}
	p.http = &http.Client{Transport: p.signer, Timeout: tellWithin}
	p.dialer = p.signer
	p.server = &peerServer{t: t, seen: map[string]time.Time{}}
	return p
}

// changed records that a tunnel came or went here. The caller holds Tunnels.mu.
func (p *peers) changed(clusterID string) {
	if p.t.config.Replicas == nil {
		return
	}
	p.mu.Lock()
	p.dirty[clusterID] = true
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run sends this replica's state to the others.
func (p *peers) run(ctx context.Context) error {
	if p.t.config.Replicas == nil {
		return nil
	}
	all := p.t.config.Clock.After(jitter.Full(tellAll))
	for {
		whole := false
		select {
		case <-all:
			whole = true
			all = p.t.config.Clock.After(jitter.Around(tellAll, tellAll/5))
		case <-p.wake:
			select {
			case <-p.t.config.Clock.After(gather):
			case <-ctx.Done():
				return nil
			}
		case <-ctx.Done():
			return nil
		}
		if said := p.news(whole); whole || len(said.Clusters) > 0 {
			p.tell(ctx, said)
		}
		p.closeIdle()
	}
}

// news returns what was not sent yet, or everything.
func (p *peers) news(whole bool) told {
	said := told{Whole: whole, Clusters: map[string]state{}}
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if whole {
		for id, s := range p.t.since {
			if s.State != Down {
				said.Clusters[id] = s
			}
		}
	}
	for id := range p.dirty {
		said.Clusters[id] = p.t.since[id]
	}
	clear(p.dirty)
	return said
}

func (p *peers) tell(ctx context.Context, said told) {
	body, err := json.Marshal(said)
	if err != nil {
		return
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	for _, other := range p.t.config.Replicas.Others() {
		telling.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, other.URL+statePath, bytes.NewReader(body))
			if err != nil {
				return
			}
			answer, err := p.http.Do(r)
			if err != nil {
				p.t.config.Log.Debug("tunnel states were not sent to a replica; they are sent again", logkey.Replica, other.Name, logkey.Error, err)
				return
			}
			_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 4<<10))
			_ = answer.Body.Close()
		})
	}
}

// take records another replica's message.
func (p *peers) take(replica string, said told) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.there[replica]
	if known == nil {
		known = map[string]state{}
		p.there[replica] = known
	}
	if said.Whole {
		for id, s := range known {
			if _, still := said.Clusters[id]; s.State == Up && !still {
				known[id] = state{Down, clock.Micros(p.t.config.Clock.Now())}
			}
		}
	}
	maps.Copy(known, said.Clusters)
}

// state returns a cluster's tunnel at other replicas. A dead replica has none.
func (p *peers) state(clusterID string) (found state) {
	if p.t.config.Replicas == nil {
		return found
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for replica, has := range p.there {
		s, ok := has[clusterID]
		if !ok {
			continue
		}
		if _, alive := p.t.config.Replicas.Named(replica); !alive && s.State == Up {
			s.State = Down
		}
		if isUp := s.State == Up; isUp != (found.State == Up) && isUp || isUp == (found.State == Up) && s.At > found.At {
			found = s
		}
	}
	return found
}

// candidates returns the replicas to ask for a cluster: first those that
// announced its tunnel, then all others, whose message may be on its way.
func (p *peers) candidates(clusterID string) []peer.Replica {
	others := p.t.config.Replicas.Others()
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.SortStableFunc(others, func(a, b peer.Replica) int {
		return order(p.there[b.Name][clusterID]) - order(p.there[a.Name][clusterID])
	})
	return others
}

func order(s state) int {
	if s.State == Up {
		return 1
	}
	return 0
}

// open starts a stream at the replica that has the tunnel.
func (p *peers) open(ctx context.Context, clusterID string, head *agentv1.StreamHead) (*flow, error) {
	if p.t.config.Replicas == nil {
		return nil, ErrNone
	}
	var last error
	for _, other := range p.candidates(clusterID) {
		s, err := p.forward(ctx, other, clusterID, head)
		if err == nil {
			return s, nil
		}
		if !errcode.Is(err, errcode.NotFound) {
			last = err
		}
		if errcode.Is(err, errcode.Exhausted) {
			return nil, err
		}
	}
	if last != nil {
		return nil, last
	}
	return nil, ErrNone
}

// forward starts a stream at another replica; NotFound when the tunnel is not
// there. The other replica answers that before anything of the body is sent.
func (p *peers) forward(ctx context.Context, to peer.Replica, clusterID string, head *agentv1.StreamHead) (*flow, error) {
	raw, err := encode(head)
	if err != nil {
		return nil, err
	}
	l, err := p.link(ctx, to)
	if err != nil {
		return nil, err
	}
	uri := streamPath + "?" + url.Values{"cluster": {clusterID}, "nonce": {rand.Text()}}.Encode()
	f := newFlow(ctx, p.t.config.Clock, "cluster "+clusterID+" by replica "+to.Name, nil)
	held, err := p.t.pools.enter(nil, clusterID, head.GetIdentity())
	if err != nil {
		f.cancel(errClosed)
		return nil, err
	}
	p.t.mu.Lock()
	p.t.count(f, held)
	p.t.mu.Unlock()
	p.t.metrics.forwarded.Inc()
	f.begin(l.cc, uri, http.Header{peer.PartHeader: {p.signer.Part(http.MethodPost, uri, raw)}}, raw, hasBody(head))
	// The other replica sends headers at once, before the cluster answers.
	select {
	case <-f.came:
	case <-ctx.Done():
		f.cancel(context.Cause(ctx))
		return nil, errcode.Hide(errcode.Unavailable, ctx.Err(), "replica %s did not answer in time", to.Name)
	}
	if f.broken == nil {
		f.broken = refusedBy(f.response)
	}
	if f.broken != nil {
		f.cancel(errClosed)
		return nil, f.broken
	}
	return f, nil
}

// peerLink is HTTP/2 to another replica.
type peerLink struct {
	cc   *http.ClientConn
	used time.Time
}

// link returns a connection to a replica with capacity for a stream.
func (p *peers) link(ctx context.Context, to peer.Replica) (*peerLink, error) {
	if l := p.free(to.Name); l != nil {
		return l, nil
	}
	dial, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(dial, http.MethodGet, to.URL+linkPath, nil)
	if err != nil {
		return nil, errcode.New(errcode.Internal, "invalid address of replica %s: %w", to.Name, err)
	}
	conn, answer, err := wsconn.Dial(dial, p.dialer, r, protocol)
	if answer != nil && conn == nil {
		_ = answer.Body.Close()
		err = refusedBy(answer)
	}
	if err != nil {
		return nil, errcode.Hide(errcode.Unavailable, err, "replica %s cannot be reached", to.Name)
	}
	cc, err := client(context.WithoutCancel(ctx), p.t.transport, wsconn.Join(conn, true))
	if err != nil {
		return nil, err
	}
	l := &peerLink{cc: cc, used: p.t.config.Clock.Now()}
	p.mu.Lock()
	p.links[to.Name] = append(p.links[to.Name], l)
	p.mu.Unlock()
	return l, nil
}

func (p *peers) free(replica string) *peerLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.links[replica] = slices.DeleteFunc(p.links[replica], func(l *peerLink) bool { return l.cc.Err() != nil })
	for _, l := range p.links[replica] {
		if l.cc.InFlight() < perLink {
			l.used = p.t.config.Clock.Now()
			return l
		}
	}
	return nil
}

func (p *peers) closeIdle() {
	now := p.t.config.Clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, links := range p.links {
		p.links[name] = slices.DeleteFunc(links, func(l *peerLink) bool {
			if l.cc.InFlight() > 0 || now.Sub(l.used) < linkIdle {
				return false
			}
			_ = l.cc.Close()
			return true
		})
	}
}

func (p *peers) close() {
	p.mu.Lock()
	for _, links := range p.links {
		for _, l := range links {
			_ = l.cc.Close()
		}
	}
	clear(p.links)
	p.mu.Unlock()
	p.server.close()
}
