package gitcache

import (
	"context"
	"encoding/json"
	"time"

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

// Owner returns the holder of a repository's lease, at most a second old.
// errcode.NotFound; errcode.Unavailable when there is no holder.
func (c *Cache) Owner(ctx context.Context, repositoryID string) (Owner, error) {
	return c.owner(ctx, repositoryID, ownerAge)
}

func (c *Cache) owner(ctx context.Context, repositoryID string, age time.Duration) (Owner, error) {
	if epoch := c.keeper.Owns(repositoryID); epoch != 0 {
		return Owner{Replica: c.config.Replica, Self: true, Epoch: epoch}, nil
	}
	if c.config.Replicas == nil {
		return Owner{}, c.unowned(ctx, repositoryID)
	}
	c.mu.Lock()
	known, ok := c.owners[repositoryID]
	c.mu.Unlock()
	if ok && time.Since(known.at) <= age {
		return known.owner, nil
	}
	p, err := c.config.Replicas.Placement.Placement(ctx, repositoryID)
	if err != nil {
		return Owner{}, err
	}
	if !p.Held {
		return Owner{}, c.unowned(ctx, repositoryID)
	}
	owner := Owner{Replica: p.Owner, URL: p.OwnerURL, Self: p.Owner == c.config.Replica, Epoch: p.Epoch}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owners[repositoryID] = lookedUp{owner, time.Now()}
	return owner, nil
}

// unowned returns the error for a repository without an owner.
func (c *Cache) unowned(ctx context.Context, repositoryID string) error {
	if _, err := c.store.Repository(ctx, repositoryID); err != nil {
		return err
	}
	return errcode.New(errcode.Unavailable, "the repository has no owner right now; it gets one within 40 s, try again").After(time.Second)
}

// askOwner calls the replica that owns a repository. When that one no longer
// owns it, or does not answer, the lease is read again, once, and the next
// owner is called. asked is false when there was no other replica to call.
func (c *Cache) askOwner(ctx context.Context, repositoryID string, call func(ctx context.Context, to peer.Replica) (owned bool, err error)) (asked bool, err error) {
	if c.config.Replicas == nil {
		return false, nil
	}
	var before Owner
	for _, age := range []time.Duration{ownerAge, 0} {
		owner, err := c.owner(ctx, repositoryID, age)
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
func (c *Cache) KickOwned(ctx context.Context, repositoryID, commit string, wait bool) (bool, error) {
	a := c.agent(repositoryID)
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
func (c *Cache) ResolveOwned(ctx context.Context, repositoryID string, source []byte) (head []byte, owned bool, err error) {
	a := c.agent(repositoryID)
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
func (c *Cache) resolveElsewhere(ctx context.Context, s Source) (h Head, asked bool, err error) {
	source, err := json.Marshal(s)
	if err != nil {
		return h, false, err
	}
	asked, err = c.askOwner(ctx, s.RepositoryID, func(ctx context.Context, to peer.Replica) (bool, error) {
		head, owned, err := c.config.Replicas.Client.Resolve(ctx, to, s.RepositoryID, source)
		if err != nil || !owned {
			return owned, err
		}
		return true, json.Unmarshal(head, &h)
	})
	return h, asked, err
}

// kickElsewhere has the owner fetch a repository.
func (c *Cache) kickElsewhere(ctx context.Context, repositoryID, commit string, wait bool) (asked bool, err error) {
	return c.askOwner(ctx, repositoryID, func(ctx context.Context, to peer.Replica) (bool, error) {
		return c.config.Replicas.Client.Kick(ctx, to, repositoryID, commit, wait)
	})
}
