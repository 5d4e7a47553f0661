package identity

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// flushEvery is how often last uses are written.
	flushEvery = 10 * time.Second
	// flushTimeout limits one round of Run.
	flushTimeout = 20 * time.Second
	// maxPending limits uses that wait; more are dropped and recorded at the
	// token's next use.
	maxPending = 20000
	// sweepEvery is how often expired tokens are removed.
	sweepEvery = time.Hour
	// keepExpired is how long a token is listed after it expired.
	keepExpired = 7 * 24 * time.Hour
)

// pendingUses are uses that are not yet in the database.
type pendingUses struct {
	mu   sync.Mutex
	uses map[string]use
	wake chan struct{}
}

type use struct {
	token Token
	at    int64
}

func newPendingUses() *pendingUses {
	return &pendingUses{uses: map[string]use{}, wake: make(chan struct{}, 1)}
}

// add records a use. The first use of a deploy token revokes its predecessors,
// so that one is written at once.
func (p *pendingUses) add(t Token, at int64) {
	p.mu.Lock()
	if len(p.uses) < maxPending {
		p.uses[t.ID] = use{t, at}
	}
	p.mu.Unlock()
	if t.Kind == TokenDeploy {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

func (p *pendingUses) take() map[string]use {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.uses
	p.uses = map[string]use{}
	return taken
}

// putBack returns uses that could not be written; newer ones win.
func (p *pendingUses) putBack(uses map[string]use) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, u := range uses {
		if _, ok := p.uses[id]; !ok && len(p.uses) < maxPending {
			p.uses[id] = u
		}
	}
}

// Run writes last uses in batches, revokes deploy tokens whose successor was
// used, and deletes what expired, until the context ends.
func (d *Directory) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	swept := int64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.uses.wake:
		case <-d.clock.After(flushEvery):
		}
		err := d.turn(ctx, &swept)
		if err == nil {
			backoff.Reset()
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		d.log.Warn("uses of tokens cannot be written", logkey.Error, err)
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return nil
		}
	}
}

func (d *Directory) turn(ctx context.Context, swept *int64) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := d.flush(ctx); err != nil {
		return err
	}
	now := d.now()
	if now-*swept > sweepEvery.Microseconds() {
		err := d.writer.Write(ctx, func(ctx context.Context) error {
			if err := d.stores.Uses.DeleteExpiredTokens(ctx, now-keepExpired.Microseconds()); err != nil {
				return err
			}
			return d.stores.Uses.DropSessions(ctx, now)
		})
		if err != nil {
			return err
		}
		if err := d.bindings.sweep(ctx); err != nil {
			return err
		}
		d.tokens.sweep(now)
		*swept = now
	}
	// A successful read proves that revocations would arrive; no token has this hash.
	if _, err := d.stores.Index.TokenByHash(ctx, nil); err != nil && !errcode.Is(err, errcode.NotFound) {
		return err
	}
	d.tokens.good(now)
	return nil
}

func (d *Directory) flush(ctx context.Context) error {
	uses := d.uses.take()
	if len(uses) == 0 {
		return nil
	}
	at := make(map[string]int64, len(uses))
	var clusters []Token
	for id, u := range uses {
		at[id] = u.at
		if u.token.Kind == TokenDeploy {
			clusters = append(clusters, u.token)
		}
	}
	var ended []Token
	err := d.writer.Write(ctx, func(ctx context.Context) error {
		ended = nil
		for _, t := range clusters {
			old, err := d.endPredecessors(ctx, t)
			if err != nil {
				return err
			}
			ended = append(ended, old...)
		}
		return d.stores.Uses.TouchTokens(ctx, at)
	})
	if err != nil {
		d.uses.putBack(uses)
		return err
	}
	d.credentials.Forget(ended...)
	return nil
}

// endPredecessors deletes the deploy tokens that are older than the one used.
func (d *Directory) endPredecessors(ctx context.Context, used Token) ([]Token, error) {
	tokens, err := d.stores.Uses.ClusterTokens(ctx, used.ClusterID)
	if err != nil {
		return nil, err
	}
	old := slices.DeleteFunc(tokens, func(t Token) bool {
		return t.Kind != TokenDeploy || t.ID == used.ID || t.CreatedAt >= used.CreatedAt
	})
	return old, d.credentials.Delete(ctx, old...)
}
