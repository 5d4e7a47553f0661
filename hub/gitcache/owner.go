package gitcache

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
)

// ownerAge is how long an owner is cached. A call that reaches a former owner
// gets an error, and then the lease is read again.
const ownerAge = time.Second

// Owner is the replica that fetches a repository.
type Owner struct {
	Replica string
	// URL is empty when other replicas cannot reach it.
	URL string
	// Self is set for this replica.
	Self  bool
	Epoch int64
}

// peer returns the owner as a replica to call.
func (o Owner) peer() peer.Replica { return peer.Replica{Name: o.Replica, URL: o.URL} }

// lookedUp is an owner with the time at which its lease was read.
type lookedUp struct {
	owner Owner
	at    time.Time
}

// ownerStore is what owners read and write.
type ownerStore interface {
	Repository(ctx context.Context, id string) (Repository, error)
	RequestKick(ctx context.Context, repositoryID string) error
	Head(ctx context.Context, sourceID string) (Head, error)
	HeadsOf(ctx context.Context, sourceIDs []string) ([]Head, error)
	PutSource(ctx context.Context, s Source) error
}

// owners knows which replica owns a repository, and runs the agents of those
// that this replica owns.
type owners struct {
	config *Config
	store  ownerStore
	keeper *shard.Keeper

	mu     sync.Mutex
	agents map[string]agent    // that run here, by repository
	cached map[string]lookedUp // by repository
}

func (o *owners) agent(repositoryID string) agent {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.agents[repositoryID]
}

func (o *owners) each(do func(agent)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.agents {
		do(a)
	}
}

// run runs an agent until its lease ends.
func (o *owners) run(ctx context.Context, repositoryID string, a agent) error {
	o.mu.Lock()
	o.agents[repositoryID] = a
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.agents, repositoryID)
		o.mu.Unlock()
	}()
	return a.Run(ctx)
}

// forget drops the cached owner of a repository.
func (o *owners) forget(repositoryID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.cached, repositoryID)
}

// Owner returns the holder of a repository's lease, at most a second old.
// errcode.NotFound; errcode.Unavailable when there is no holder.
func (o *owners) Owner(ctx context.Context, repositoryID string) (Owner, error) {
	return o.owner(ctx, repositoryID, ownerAge)
}

func (o *owners) owner(ctx context.Context, repositoryID string, age time.Duration) (Owner, error) {
	if epoch := o.keeper.Owns(repositoryID); epoch != 0 {
		return Owner{Replica: o.config.Replica, Self: true, Epoch: epoch}, nil
	}
	if o.config.Replicas == nil {
		return Owner{}, o.unowned(ctx, repositoryID)
	}
	o.mu.Lock()
	known, ok := o.cached[repositoryID]
	o.mu.Unlock()
	if ok && time.Since(known.at) <= age {
		return known.owner, nil
	}
	p, err := o.config.Replicas.Placement.Placement(ctx, repositoryID)
	if err != nil {
		return Owner{}, err
	}
	if !p.Held {
		return Owner{}, o.unowned(ctx, repositoryID)
	}
	owner := Owner{Replica: p.Owner, URL: p.OwnerURL, Self: p.Owner == o.config.Replica, Epoch: p.Epoch}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cached[repositoryID] = lookedUp{owner, time.Now()}
	return owner, nil
}

// unowned returns the error for a repository without an owner.
func (o *owners) unowned(ctx context.Context, repositoryID string) error {
	if _, err := o.store.Repository(ctx, repositoryID); err != nil {
		return err
	}
	return errcode.New(errcode.Unavailable, "the repository has no owner right now; it gets one within 40 s, try again").After(time.Second)
}

// ask calls the replica that owns a repository. When that one no longer
// owns it, or does not answer, the lease is read again, once, and the next
// owner is called. asked is false when there was no other replica to call.
func (o *owners) ask(ctx context.Context, repositoryID string, call func(ctx context.Context, to peer.Replica) (owned bool, err error)) (asked bool, err error) {
	if o.config.Replicas == nil {
		return false, nil
	}
	var before Owner
	for _, age := range []time.Duration{ownerAge, 0} {
		owner, err := o.owner(ctx, repositoryID, age)
		if err != nil || owner.Self || owner.URL == "" || owner == before {
			return false, nil
		}
		before = owner
		owned, err := call(ctx, owner.peer())
		if err != nil && (!peer.Unanswered(err) || ctx.Err() != nil) {
			return true, err
		}
		if err == nil && owned {
			return true, nil
		}
	}
	return false, nil
}

// KickOwned implements peer.Owner.
func (o *owners) KickOwned(ctx context.Context, repositoryID, commit string, wait bool) (bool, error) {
	a := o.agent(repositoryID)
	switch {
	case a == nil:
		return false, nil
	case wait:
		return true, a.KickAndWait(ctx, commit)
	}
	a.Kick()
	return true, nil
}

// ResolveOwned implements peer.Owner.
func (o *owners) ResolveOwned(ctx context.Context, repositoryID string, source []byte) (head []byte, owned bool, err error) {
	a := o.agent(repositoryID)
	if a == nil {
		return nil, false, nil
	}
	var s Source
	if err := json.Unmarshal(source, &s); err != nil || s.RepositoryID != repositoryID {
		return nil, true, errcode.New(errcode.Invalid, "another replica sent a source that cannot be read; check that all replicas run the same version")
	}
	h, err := a.Resolve(ctx, s)
	if err != nil {
		return nil, true, err
	}
	head, err = json.Marshal(h)
	return head, true, err
}

// resolveElsewhere has the owner evaluate a source.
func (o *owners) resolveElsewhere(ctx context.Context, s Source) (h Head, asked bool, err error) {
	source, err := json.Marshal(s)
	if err != nil {
		return h, false, err
	}
	asked, err = o.ask(ctx, s.RepositoryID, func(ctx context.Context, to peer.Replica) (bool, error) {
		head, owned, err := o.config.Replicas.Client.Resolve(ctx, to, s.RepositoryID, source)
		if err != nil || !owned {
			return owned, err
		}
		return true, json.Unmarshal(head, &h)
	})
	return h, asked, err
}

// kickElsewhere has the owner fetch a repository.
func (o *owners) kickElsewhere(ctx context.Context, repositoryID, commit string, wait bool) (asked bool, err error) {
	return o.ask(ctx, repositoryID, func(ctx context.Context, to peer.Replica) (bool, error) {
		return o.config.Replicas.Client.Kick(ctx, to, repositoryID, commit, wait)
	})
}
