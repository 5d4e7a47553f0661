package tunnel

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// The reasons of hints.
const (
	reasonDesired = "desired"
	reasonToken   = "token"
)

// hinting is how many hints are sent concurrently.
const hinting = 64

// hints is the queue of hints to send: at most one per cluster, the projects in
// turn, and of a project the oldest first. A change of the whole fleet fills it; the
// rate limit empties it. A project whose agents do not answer has a half of what is
// sent concurrently. A cluster is hinted at once, unless it was hinted within the last HintRest: then it is
// hinted when that time is over.
type hints struct {
	t     *Tunnels
	limit *rate.Limiter
	wake  chan struct{}

	mu     sync.Mutex
	queue  []*lane           // of the projects with waiting hints, the next one first
	reason map[string]string // by cluster, of the waiting hints
	// resting are the clusters that were hinted within HintRest: a new hint for
	// them is kept only in reason.
	resting map[string]bool
	// named is the etag in each cluster's last hint.
	named map[string]string
}

// lane are the waiting clusters of a project.
type lane struct {
	project  string
	clusters []string
}

func newHints(t *Tunnels) *hints {
	return &hints{
		t: t, limit: rate.NewLimiter(rate.Limit(t.config.HintRate), hintBurst), wake: make(chan struct{}, 1),
		reason: map[string]string{}, resting: map[string]bool{}, named: map[string]string{},
	}
}

func (h *hints) add(clusterID, reason string) {
	h.mu.Lock()
	if _, waits := h.reason[clusterID]; !waits && !h.resting[clusterID] {
		h.enqueue(clusterID)
	}
	if h.reason[clusterID] != reasonToken {
		h.reason[clusterID] = reason
	}
	h.mu.Unlock()
	h.turn()
}

// turn wakes the sender.
func (h *hints) turn() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// rest delays the next hint of a cluster that is hinted now: somebody who
// changes its services one after the other causes a hint for each, and the poll
// after the last hint answers all of them.
func (h *hints) rest(ctx context.Context, clusterID string) {
	h.mu.Lock()
	h.resting[clusterID] = true
	h.mu.Unlock()
	h.t.running.Go(func() {
		// It ends early only when all hints end.
		_ = jitter.Wait(ctx, h.t.config.HintRest)
		h.mu.Lock()
		delete(h.resting, clusterID)
		if _, waits := h.reason[clusterID]; waits {
			h.enqueue(clusterID)
		}
		h.mu.Unlock()
		h.turn()
	})
}

// enqueue adds a cluster to the lane of its project. The caller holds mu.
func (h *hints) enqueue(clusterID string) {
	project := h.t.config.Project(clusterID)
	at := slices.IndexFunc(h.queue, func(l *lane) bool { return l.project == project })
	if at < 0 {
		at = len(h.queue)
		h.queue = append(h.queue, &lane{project: project})
	}
	h.queue[at].clusters = append(h.queue[at].clusters, clusterID)
}

// next returns the next hint and its place: that of the first project that has one, which
// is the last then. The place is nil when there is nothing to send now.
func (h *hints) next() (clusterID, reason string, place *pool.Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at, l := range h.queue {
		clusterID = l.clusters[0]
		if place = h.t.pools.hints.Try(pool.Caller{Name: clusterID, Project: l.project}); place == nil {
			continue
		}
		h.queue = slices.Delete(h.queue, at, at+1)
		if l.clusters = l.clusters[1:]; len(l.clusters) > 0 {
			h.queue = append(h.queue, l)
		}
		reason = h.reason[clusterID]
		delete(h.reason, clusterID)
		return clusterID, reason, place
	}
	return "", "", nil
}

// run sends hints at the limited rate.
func (h *hints) run(ctx context.Context) error {
	for {
		if h.limit.Wait(ctx) != nil {
			return nil
		}
		clusterID, reason, place := h.next()
		for place == nil {
			select {
			case <-h.wake:
			case <-ctx.Done():
				return nil
			}
			clusterID, reason, place = h.next()
		}
		h.t.mu.Lock()
		c := h.t.current[clusterID]
		h.t.mu.Unlock()
		if c == nil {
			place.Leave()
			h.lost(clusterID, reason, nil)
			continue
		}
		h.rest(ctx, clusterID)
		h.t.running.Go(func() {
			h.send(ctx, c, reason)
			place.Leave()
			h.turn()
		})
	}
}

func (h *hints) send(ctx context.Context, c *connection, reason string) {
	at := h.t.config.Feed.Position()
	_, err := c.say(ctx, h.t.config.HelloWithin, &agentv1.ControlRequest{Message: &agentv1.ControlRequest_Hint{Hint: &agentv1.TunnelHint{
		Reason: reason, Position: &agentv1.Position{Incarnation: at.Incarnation, Sequence: at.Sequence},
	}}})
	if err != nil {
		h.t.config.Log.Debug("a hint was not delivered; the next tunnel repeats it, or a poll makes it unnecessary", logkey.Cluster, c.clusterName, logkey.Error, err)
		h.lost(c.clusterID, reason, c)
		return
	}
	h.t.metrics.hints.WithLabelValues(reason).Inc()
}

// lost records that a hint was sent over a broken connection, or found none:
// the cluster's next connection is hinted at its beginning. A connection that
// was opened meanwhile is hinted now, because it began before this was known.
func (h *hints) lost(clusterID, reason string, along *connection) {
	h.mu.Lock()
	delete(h.named, clusterID)
	h.mu.Unlock()
	h.t.mu.Lock()
	next := h.t.current[clusterID]
	h.t.mu.Unlock()
	if next != nil && next != along {
		h.add(clusterID, reason)
	}
}

var _ event.Subscriber = (*Tunnels)(nil)

// Apply hints the clusters whose lists changed and closes the tunnels whose
// tokens are gone. It must be subscribed after the subscribers that maintain
// both.
func (t *Tunnels) Apply(_ context.Context, rows []event.Row) error {
	clusters := map[string]bool{}
	for _, r := range rows {
		switch r.Kind {
		case event.KindService:
			clusters[r.Cluster] = true
		case event.KindCluster:
			clusters[r.Key] = true
		case event.KindToken:
			if r.Cluster != "" {
				t.tokensGone(r.Cluster)
			}
		case event.KindSigningKey:
			t.all(func(c *connection) { t.hints.add(c.clusterID, reasonToken) })
		case event.KindIncarnation:
			t.all(func(c *connection) { clusters[c.clusterID] = true })
		}
	}
	ids := make([]string, 0, len(clusters))
	for id := range clusters {
		ids = append(ids, id)
	}
	t.news(ids)
	return nil
}

// Rebuild checks everything, because what changed since is unknown.
func (t *Tunnels) Rebuild(context.Context) error {
	var ids []string
	t.all(func(c *connection) {
		ids = append(ids, c.clusterID)
		t.tokenGone(c)
	})
	t.news(ids)
	return nil
}

// all calls fn for every connection that accepts streams.
func (t *Tunnels) all(fn func(*connection)) {
	t.mu.Lock()
	every := make([]*connection, 0, len(t.current))
	for _, c := range t.current {
		every = append(every, c)
	}
	t.mu.Unlock()
	for _, c := range every {
		fn(c)
	}
}

// news hints those clusters of this replica whose lists differ from their last
// hint.
func (t *Tunnels) news(ids []string) {
	for _, id := range ids {
		t.mu.Lock()
		_, here := t.current[id]
		t.mu.Unlock()
		if !here {
			continue
		}
		etag, err := t.config.Desired.ETag(id)
		if err != nil {
			continue // the cluster was deleted; its tunnel ends with its token
		}
		t.hints.mu.Lock()
		same := t.hints.named[id] == etag
		t.hints.named[id] = etag
		t.hints.mu.Unlock()
		if !same {
			t.hints.add(id, reasonDesired)
		}
	}
}

// tokenSpread is how long an agent may wait before it dials with its new token;
// the old connection accepts streams for twice as long.
const tokenSpread = 10 * time.Second

// tokensGone checks all connections of a cluster.
func (t *Tunnels) tokensGone(clusterID string) {
	var found []*connection
	t.mu.Lock()
	if c := t.current[clusterID]; c != nil {
		found = append(found, c)
	}
	for c := range t.old {
		if c.clusterID == clusterID {
			found = append(found, c)
		}
	}
	t.mu.Unlock()
	for _, c := range found {
		t.tokenGone(c)
	}
}

// tokenGone closes a connection whose cluster has no valid token. When the
// agent merely got a newer token, it is told to dial again, and the old
// connection's streams may finish.
func (t *Tunnels) tokenGone(c *connection) {
	switch good, others := t.config.Identity.DeployToken(c.tokenID, c.clusterID); {
	case good:
	case others:
		t.mu.Lock()
		if c.retireAt.IsZero() {
			c.retireAt = t.config.Clock.Now().Add(2 * tokenSpread)
		}
		t.mu.Unlock()
		t.running.Go(func() { t.sendAway(context.Background(), c, "the token was replaced", tokenSpread) })
	default:
		t.metrics.revoked.Inc()
		t.config.Log.Info("a tunnel is closed: its token was revoked", logkey.Cluster, c.clusterName)
		c.close()
	}
}
