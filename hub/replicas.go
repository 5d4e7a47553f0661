package hub

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/hub/agentapi"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/routes"
)

const (
	// tellEvery is how late other replicas learn of a poll; freshness is in minutes.
	tellEvery = 10 * time.Second
	// headsLease is held by the replica that processes moved heads.
	headsLease = "heads"
	// placementLease is held by the replica that places repositories.
	placementLease = "placement"
)

// replicas is this replica's view of the others. With SQLite there are none,
// and nothing here writes a row.
type replicas struct {
	alone   bool
	members *peer.Members
	client  *peer.Client
	lease   *peer.Lease // of moved heads
	placing *peer.Lease
	behind  *behind
	key     []byte
	clock   clock.Clock

	mu    sync.Mutex
	polls map[string]int64
}

func (h *Hub) newReplicas() (_ *replicas, err error) {
	c := h.config
	r := &replicas{alone: h.store.Database() == "sqlite", clock: c.Clock, polls: map[string]int64{}}
	if r.key, err = h.store.Sealer().Derive(peer.Purpose); err != nil {
		return nil, fmt.Errorf("derive the key between replicas: %w", err)
	}
	self := peer.Replica{Name: h.replica, URL: c.AdvertiseURL, Version: buildinfo.Version}
	if self.URL == "" {
		// Use the address of this process, not that of the whole hub.
		c.ExternalURL = ""
		self.URL = c.externalURL(h.addr)
	}
	if r.members, err = peer.NewMembers(peer.MembersConfig{Store: h.store, Self: self, Condition: h.condition, Clock: c.Clock, Log: c.Log}); err != nil {
		return nil, err
	}
	if r.client, err = peer.NewClient(peer.ClientConfig{Key: r.key, Replica: h.replica, Clock: r.members}); err != nil {
		return nil, err
	}
	// A restarted replica is another holder: its earlier run may still be
	// working for as long as its lease lasts.
	holder := h.replica + "/" + rand.Text()[:8]
	lease := func(name string) (*peer.Lease, error) {
		return peer.NewLease(peer.LeaseConfig{Store: h.store, Name: name, Holder: holder, Clock: c.Clock, Log: c.Log})
	}
	if r.lease, err = lease(headsLease); err != nil {
		return nil, err
	}
	if r.placing, err = lease(placementLease); err != nil {
		return nil, err
	}
	r.behind = &behind{age: h.feed.Age, others: r.members.Others, ask: r.client.Condition, clock: c.Clock}
	return r, nil
}

// condition returns this replica's state.
func (h *Hub) condition() peer.Condition {
	c := peer.Condition{Position: h.feed.Position(), FeedAge: h.feed.Age()}
	var disk unix.Statfs_t
	if err := unix.Statfs(h.config.DataDir, &disk); err == nil {
		c.DiskFree, c.DiskTotal = int64(disk.Bavail)*disk.Bsize, int64(disk.Blocks)*disk.Bsize
	}
	return c
}

// forCache returns the git cache's view of the other replicas, nil for a single
// replica.
func (r *replicas) forCache(s *store.Store) *gitcache.Replicas {
	if r.alone {
		return nil
	}
	return &gitcache.Replicas{Members: r.members, Placement: s, Client: r.client, Lease: r.placing}
}

// Run announces this replica, and which clusters polled, to the others.
func (r *replicas) Run(ctx context.Context) error {
	if r.alone {
		return nil
	}
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "members", Run: r.members.Run},
		lifecycle.Part{Name: "polls", Run: r.tellPolls},
		lifecycle.Part{Name: "behind", Run: r.behind.Run},
	)
}

// drain makes a replica own nothing, or revokes that.
func (h *Hub) drain(ctx context.Context, replica string, leaving bool) error {
	if h.replicas.alone {
		return errcode.New(errcode.Invalid, "this hub is a single replica on SQLite; there is nowhere to move its repositories")
	}
	return h.store.SetLeaving(ctx, replica, leaving)
}

// lead runs work on one replica at a time.
func (r *replicas) lead(ctx context.Context, work func(ctx context.Context) error) error {
	if r.alone {
		return work(ctx)
	}
	return r.lease.Run(ctx, func(ctx context.Context, _ int64) error { return work(ctx) })
}

// polled records a poll for the others.
func (r *replicas) polled(clusterID string, at time.Time) {
	if r.alone {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polls[clusterID] = clock.Micros(at)
}

func (r *replicas) tellPolls(ctx context.Context) error {
	for {
		select {
		case <-r.clock.After(jitter.Around(tellEvery, tellEvery/10)):
		case <-ctx.Done():
			return nil
		}
		r.mu.Lock()
		polls := r.polls
		r.polls = make(map[string]int64, len(polls))
		r.mu.Unlock()
		if len(polls) == 0 {
			continue
		}
		for _, other := range r.members.Others() {
			// What is not sent now is sent with the next poll; an unreachable
			// replica shows older ages until then.
			_ = r.client.TellSeen(ctx, other, polls)
		}
	}
}

// announcedFleet is the fleet for the agents' edge: it records a poll here and
// for the other replicas.
type announcedFleet struct {
	*fleet.Fleet
	replicas *replicas
}

var _ agentapi.Fleet = announcedFleet{}

// Seen records a poll.
func (a announcedFleet) Seen(clusterID string, at time.Time) {
	a.Fleet.Seen(clusterID, at)
	a.replicas.polled(clusterID, at)
}

// TakeSeen implements peer.SeenTaker.
func (a announcedFleet) TakeSeen(_ context.Context, _ string, polledAt map[string]int64) {
	for id, at := range polledAt {
		a.Fleet.Seen(id, clock.FromMicros(at))
	}
}

// peerRoutes adds the routes for other replicas.
func (h *Hub) peerRoutes(mux routes.Adder) error {
	if h.replicas.alone {
		return nil
	}
	path, handler, err := peer.NewHandler(peer.HandlerConfig{
		Key: h.replicas.key, Clock: h.replicas.members,
		Owner: h.cache, Seen: announcedFleet{h.fleet, h.replicas}, Mirrors: h.cache, Condition: h.condition,
	})
	if err != nil {
		return err
	}
	mux.Handle(path, handler)
	mux.Handle(peer.Path, handler)
	if path, handler, err = peer.NewTarballHandler(h.replicas.key, h.replicas.members, h.cache); err != nil {
		return err
	}
	mux.Handle(path, handler)
	return nil
}
