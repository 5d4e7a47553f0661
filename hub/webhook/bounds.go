package webhook

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/time/rate"

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
	// strangersRate and strangersBurst bound the questions to the database about webhooks that
	// nobody was seen to have: each unknown id would be one.
	strangersRate  = 50
	strangersBurst = 200
	// replayWithin is how long a repeated delivery is ignored.
	replayWithin = 10 * time.Minute
)

// known caches webhooks and their secrets, so that a flood of deliveries does
// not reach the database, and so that deliveries are accepted while it is
// unavailable.
type known struct {
	hooks Hooks
	clock clock.Clock

	mu sync.Mutex
	// rows are webhooks that exist, missed those that do not: unknown ids push no webhook out.
	rows, missed map[string]row
	strangers    *rate.Limiter
}

type row struct {
	hook   gitcache.Webhook
	secret string
	err    error // NotFound
	at     time.Time
}

func newKnown(h Hooks, c clock.Clock) *known {
	return &known{hooks: h, clock: c, rows: map[string]row{}, missed: map[string]row{}, strangers: rate.NewLimiter(strangersRate, strangersBurst)}
}

// get returns a webhook as the database had it at most 5 s ago, or an hour when
// the database does not answer.
func (k *known) get(ctx context.Context, id string) (gitcache.Webhook, string, error) {
	now := k.clock.Now()
	k.mu.Lock()
	r, ok := k.rows[id]
	if miss, is := k.missed[id]; is && !ok {
		r, ok = miss, true
	}
	k.mu.Unlock()
	if ok && now.Sub(r.at) < knownFor {
		return r.hook, r.secret, r.err
	}
	if (!ok || r.err != nil) && !k.strangers.AllowN(now, 1) {
		return gitcache.Webhook{}, "", errcode.New(errcode.Exhausted, "too many deliveries to webhooks that this hub does not know; send it again in a second").After(time.Second)
	}
	hook, secret, err := k.hooks.WebhookSecret(ctx, id)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		if ok && r.err == nil && now.Sub(r.at) < knownAlone {
			return r.hook, r.secret, nil
		}
		return hook, "", err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	into := k.rows
	if err != nil {
		delete(k.rows, id)
		into = k.missed
	}
	if len(into) >= remembered {
		clear(into)
	}
	into[id] = row{hook, secret, err, now}
	return hook, secret, err
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
