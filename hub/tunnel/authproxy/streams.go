package authproxy

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// lookEvery is how often streams are checked.
	lookEvery = time.Second
	// slowAfter is how long bytes may wait for a client that reads nothing.
	slowAfter = 30 * time.Second
)

var (
	errSlow    = errcode.New(errcode.Unavailable, "the client read nothing for %d s while bytes waited", int(slowAfter.Seconds()))
	errRevoked = errcode.New(errcode.Unauthorized, "the token was revoked or has expired, or its owner lost a right or a group that this was opened with; open it again")
)

// streams are the running streams.
type streams struct {
	mu  sync.Mutex
	all map[*live]struct{}
	// now counts seconds: a clock that is cheap to read.
	now atomic.Int64
}

// live is one checked stream.
type live struct {
	tokenID string
	cluster Cluster
	// who is what the cluster's API server was shown when the stream was opened, and
	// goes on to trust.
	who   *agentv1.StreamIdentity
	until int64
	// waits is the second, plus one, since which a write to the client waits.
	waits  atomic.Int64
	cancel context.CancelCauseFunc
	// cut unblocks a write to the client; mu guards setting and calling it.
	mu    sync.Mutex
	cut   func()
	ended bool
}

// live returns the stream of an admitted request.
func (a *parsedRequest) live(cancel context.CancelCauseFunc) *live {
	return &live{tokenID: a.caller.TokenID, cluster: a.cluster, who: a.head.GetIdentity(), until: a.until, cancel: cancel}
}

func (s *streams) add(l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[l] = struct{}{}
}

func (s *streams) remove(l *live) {
	s.mu.Lock()
	delete(s.all, l)
	s.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// end closes a stream. It never calls cut after the stream was removed, since
// the connection may then serve another request.
func (l *live) end(why error) {
	l.cancel(why)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended && l.cut != nil {
		l.cut()
	}
}

// setCut sets how to unblock a write from now on.
func (l *live) setCut(cut func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

// Run checks the running streams until ctx ends, and then ends them.
func (p *Proxy) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			for _, l := range p.streams.list() {
				l.end(errcode.New(errcode.Unavailable, "the hub is stopping; try again"))
			}
			return nil
		case <-p.config.Clock.After(lookEvery):
		}
		p.look(ctx)
	}
}

func (s *streams) list() []*live {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*live, 0, len(s.all))
	for l := range s.all {
		all = append(all, l)
	}
	return all
}

// look ends streams whose client is slow, and those that would not be opened now with
// the identity that they were opened with. Each pair of token and cluster is judged
// once, however many watches it has.
func (p *Proxy) look(ctx context.Context) {
	second := p.streams.now.Add(1)
	now := clock.Micros(p.config.Clock.Now())
	type pair struct{ token, cluster string }
	judged := map[pair]verdict{}
	for _, l := range p.streams.list() {
		if w := l.waits.Load(); w != 0 && second-w >= int64(slowAfter/lookEvery) {
			l.end(errSlow)
			continue
		}
		if l.until != 0 && now >= l.until {
			l.end(errRevoked)
			continue
		}
		key := pair{l.tokenID, l.cluster.ID}
		v, known := judged[key]
		if !known {
			v = p.again(ctx, l)
			judged[key] = v
		}
		if !v.holds(l.who) {
			l.end(errRevoked)
		}
	}
}

// verdict is what a token gives in a cluster now.
type verdict struct {
	who *agentv1.StreamIdentity
	err error
}

// again judges a stream's caller and cluster as they are now.
func (p *Proxy) again(ctx context.Context, l *live) verdict {
	caller, err := p.config.Identity.Caller(ctx, l.tokenID)
	if err != nil {
		return verdict{err: err}
	}
	cluster := l.cluster
	if now, known := p.config.Now(cluster.ID); known {
		cluster = now
	}
	who, err := p.judge(ctx, caller, cluster)
	return verdict{who, err}
}

// holds reports whether a stream that was opened as somebody may continue. A check that
// fails for technical reasons does not end it.
func (v verdict) holds(opened *agentv1.StreamIdentity) bool {
	switch errcode.Of(v.err) {
	case "":
	case errcode.Unauthorized, errcode.Forbidden, errcode.NotFound:
		return false
	default:
		return true
	}
	lost := func(group string) bool { return !slices.Contains(v.who.GetGroups(), group) }
	return v.who.GetUser() == opened.GetUser() && !slices.ContainsFunc(opened.GetGroups(), lost)
}

// meter records since when a write waits.
type meter struct {
	to   interface{ Write(p []byte) (int, error) }
	live *live
	now  *atomic.Int64
}

// Write implements io.Writer.
func (m meter) Write(p []byte) (int, error) {
	m.live.waits.Store(m.now.Load() + 1)
	n, err := m.to.Write(p)
	m.live.waits.Store(0)
	return n, err
}
