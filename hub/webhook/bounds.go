package webhook

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// knownFor is how long a changed or deleted webhook may go unnoticed, and
	// knownAlone the same while the database is unavailable.
	knownFor   = 5 * time.Second
	knownAlone = time.Hour
	// remembered limits each of the caches below.
	remembered = 4096
	// listEvery is how often unknown ids make the hub list its webhooks, and listWithin how
	// long that may take: whoever sends to ids that do not exist costs no question each.
	listEvery  = time.Second
	listWithin = 2 * time.Second
	// replayWithin is how long a repeated delivery is ignored.
	replayWithin = 10 * time.Minute
)

// known caches webhooks and their secrets, so that a flood of deliveries does
// not reach the database, and so that deliveries are accepted while it is
// unavailable.
type known struct {
	hooks Hooks
	clock clock.Clock

	mu   sync.Mutex
	rows map[string]row

	// ids are of all webhooks, as of listedAt.
	listing  sync.Mutex
	ids      map[string]bool
	listedAt time.Time
}

type row struct {
	hook   gitcache.Webhook
	secret string
	at     time.Time
}

func newKnown(h Hooks, c clock.Clock) *known {
	return &known{hooks: h, clock: c, rows: map[string]row{}, ids: map[string]bool{}}
}

// has reports whether a webhook was there a moment ago, as far as this replica has seen.
func (k *known) has(id string) bool {
	k.listing.Lock()
	defer k.listing.Unlock()
	return k.ids[id]
}

// exists returns NotFound for an id of no webhook.
func (k *known) exists(ctx context.Context, id string) error {
	k.listing.Lock()
	defer k.listing.Unlock()
	if now := k.clock.Now(); !k.ids[id] && now.Sub(k.listedAt) >= listEvery {
		ctx, cancel := context.WithTimeout(ctx, listWithin)
		defer cancel()
		all, err := k.hooks.Webhooks(ctx)
		if err != nil {
			return err
		}
		k.ids, k.listedAt = make(map[string]bool, len(all)), now
		for _, w := range all {
			k.ids[w.ID] = true
		}
	}
	if !k.ids[id] {
		return errcode.New(errcode.NotFound, "this webhook does not exist")
	}
	return nil
}

// get returns a webhook as the database had it at most 5 s ago, or an hour when
// the database does not answer.
func (k *known) get(ctx context.Context, id string) (gitcache.Webhook, string, error) {
	now := k.clock.Now()
	k.mu.Lock()
	r, ok := k.rows[id]
	k.mu.Unlock()
	if ok && now.Sub(r.at) < knownFor {
		return r.hook, r.secret, nil
	}
	if !ok {
		if err := k.exists(ctx, id); err != nil {
			return gitcache.Webhook{}, "", err
		}
	}
	hook, secret, err := k.hooks.WebhookSecret(ctx, id)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		if ok && now.Sub(r.at) < knownAlone {
			return r.hook, r.secret, nil
		}
		return hook, "", err
	}
	if err != nil {
		k.forget(id)
		return hook, "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.rows) >= remembered {
		clear(k.rows)
	}
	k.rows[id] = row{hook, secret, now}
	return hook, secret, nil
}

// forget drops a webhook that was deleted.
func (k *known) forget(id string) {
	k.mu.Lock()
	delete(k.rows, id)
	k.mu.Unlock()
	k.listing.Lock()
	defer k.listing.Unlock()
	delete(k.ids, id)
}

// seen remembers processed deliveries.
type seen struct {
	clock clock.Clock

	mu sync.Mutex
	at map[[sha256.Size]byte]time.Time
}

func newSeen(c clock.Clock) *seen {
	return &seen{clock: c, at: map[[sha256.Size]byte]time.Time{}}
}

func deliveryKey(hook string, body []byte) [sha256.Size]byte {
	sum := sha256.Sum256(body)
	return sha256.Sum256(append([]byte(hook+"\n"), sum[:]...))
}

func (s *seen) has(hook string, body []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.at[deliveryKey(hook, body)]
	return ok && s.clock.Now().Sub(at) < replayWithin
}

func (s *seen) add(hook string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if len(s.at) >= remembered {
		for key, at := range s.at {
			if now.Sub(at) >= replayWithin {
				delete(s.at, key)
			}
		}
		if len(s.at) >= remembered {
			clear(s.at) // a replay costs at most one fetch
		}
	}
	s.at[deliveryKey(hook, body)] = now
}

// noted limits how often a webhook's last delivery is written.
type noted struct {
	clock clock.Clock

	mu   sync.Mutex
	last map[string]note
}

type note struct {
	at      time.Time
	outcome string
}

func newNoted(c clock.Clock) *noted { return &noted{clock: c, last: map[string]note{}} }

// due reports whether to write now, and records that.
func (n *noted) due(hook, outcome string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	if old, ok := n.last[hook]; ok && old.outcome == outcome && now.Sub(old.at) < noteEvery {
		return false
	}
	if len(n.last) >= remembered {
		clear(n.last)
	}
	n.last[hook] = note{now, outcome}
	return true
}
