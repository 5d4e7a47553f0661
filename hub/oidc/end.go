package oidc

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
)

const (
	// lookEvery is how soon a look that failed is tried again.
	lookEvery = 5 * time.Second
	// page is how many rows are read, or dropped, at once.
	page = 500
	// tidyEvery is how often keys and what has expired are looked at.
	tidyEvery = 10 * time.Minute
)

// Pair is a person with a client that they have grants for.
type Pair struct{ ClientID, UserID string }

// pending is what the feed reported since the last look.
type pending struct {
	wake chan struct{}

	mu sync.Mutex
	// all is set when anybody may be affected; users and tokens are ids.
	all           bool
	users, tokens map[string]bool
}

func newPending() *pending {
	return &pending{wake: make(chan struct{}, 1), all: true, users: map[string]bool{}, tokens: map[string]bool{}}
}

// take returns what was reported, and forgets it.
func (n *pending) take() (all bool, users, tokens []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := range n.users {
		users = append(users, id)
	}
	for id := range n.tokens {
		tokens = append(tokens, id)
	}
	all, n.all, n.users, n.tokens = n.all, false, map[string]bool{}, map[string]bool{}
	return all, users, tokens
}

func (n *pending) add(all bool, users, tokens []string) {
	n.mu.Lock()
	n.all = n.all || all
	// A replica that does not run keeps only that there is something.
	if len(n.users)+len(n.tokens) > 20*page {
		n.all, n.users, n.tokens = true, map[string]bool{}, map[string]bool{}
	}
	for _, id := range users {
		n.users[id] = true
	}
	for _, id := range tokens {
		n.tokens[id] = true
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

var _ event.Subscriber = (*Provider)(nil)

// Rebuild implements event.Subscriber.
func (p *Provider) Rebuild(context.Context) error {
	p.pending.add(true, nil, nil)
	return nil
}

// Apply implements event.Subscriber: people, groups, bindings and applications decide who may
// log in, and sessions end.
func (p *Provider) Apply(_ context.Context, rows []event.Row) error {
	var all bool
	var users, tokens []string
	for _, row := range rows {
		switch row.Kind {
		case event.KindUser:
			users = append(users, row.Key)
		case event.KindToken:
			tokens = append(tokens, row.Key)
		case event.KindGroup, event.KindObject:
			all = true
		}
	}
	if all || len(users) > 0 || len(tokens) > 0 {
		p.pending.add(all, users, tokens)
	}
	return nil
}

// Run ends grants of those who may no longer log in, notifies applications of sessions that
// ended, rotates keys and drops what has expired. One replica at a time runs it.
func (p *Provider) Run(ctx context.Context) error {
	p.pending.add(true, nil, nil)
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "ended sign-ins", Run: func(ctx context.Context) error { return p.repeat(ctx, p.pending.wake, lookEvery, p.look) }},
		lifecycle.Part{Name: "logouts of applications", Run: func(ctx context.Context) error { return p.repeat(ctx, p.due, retryFirst, p.sendDue) }},
		lifecycle.Part{Name: "keys of sign-ins", Run: func(ctx context.Context) error { return p.repeat(ctx, nil, tidyEvery, p.tidy) }},
	)
}

// repeat does work at intervals, and sooner when it is woken.
func (p *Provider) repeat(ctx context.Context, wake <-chan struct{}, every time.Duration, work func(context.Context) error) error {
	for {
		wake := wake
		if err := work(ctx); err != nil && ctx.Err() == nil {
			p.config.Log.Warn("sign-ins wait; trying again", logkey.Error, err)
			// What failed woke this again; a database that is away is left alone meanwhile.
			wake = nil
		}
		select {
		case <-p.config.Clock.After(jitter.Around(every, every/5)):
		case <-wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *Provider) tidy(ctx context.Context) error {
	if err := p.keys.rotate(ctx); err != nil {
		return err
	}
	for {
		var n int64
		err := p.config.Stores.Writer.Write(ctx, func(ctx context.Context) (err error) {
			n, err = p.config.Stores.Grants.DropGrants(ctx, p.now(), page)
			return err
		})
		if err != nil || n < page {
			return err
		}
	}
}

// look ends what the feed reported; what fails is looked at again.
func (p *Provider) look(ctx context.Context) (err error) {
	all, users, tokens := p.pending.take()
	defer func() {
		if err != nil {
			p.pending.add(all, users, tokens)
		}
	}()
	for ids := range slices.Chunk(tokens, page) {
		if err := p.endSessions(ctx, ids); err != nil {
			return err
		}
	}
	if !all {
		for ids := range slices.Chunk(users, page) {
			pairs, err := p.config.Stores.Ended.PairsOf(ctx, ids)
			if err == nil {
				err = p.endPairs(ctx, pairs)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	var last Pair
	for {
		pairs, err := p.config.Stores.Ended.Pairs(ctx, last, page)
		if err == nil {
			err = p.endPairs(ctx, pairs)
		}
		if err != nil || len(pairs) < page {
			return err
		}
		last = pairs[len(pairs)-1]
	}
}

// endPairs ends the grants of those who may not log in to the client any more.
func (p *Provider) endPairs(ctx context.Context, pairs []Pair) error {
	clients := map[string]*application.Client{}
	for _, pair := range pairs {
		c, read := clients[pair.ClientID]
		if !read {
			found, err := p.config.Clients.Client(ctx, pair.ClientID)
			if err != nil && !errcode.Is(err, errcode.NotFound) {
				return err
			}
			if err == nil {
				c = &found
			}
			clients[pair.ClientID] = c
		}
		why := "the application was deleted"
		if c != nil {
			_, err := p.gate.person(ctx, *c, pair.UserID)
			if err == nil {
				continue
			}
			if code := errcode.Of(err); code != errcode.Forbidden && code != errcode.NotFound {
				return err
			}
			why = errcode.Message(err)
		}
		if err := p.endPair(ctx, pair, c, why); err != nil {
			return err
		}
	}
	return nil
}

// endPair ends all grants of a person for a client, and queues the notices.
func (p *Provider) endPair(ctx context.Context, pair Pair, c *application.Client, why string) error {
	err := p.config.Stores.Writer.Write(ctx, func(ctx context.Context) error {
		grants, err := p.config.Stores.Ended.GrantsOf(ctx, pair)
		if err != nil {
			return err
		}
		return p.endGrants(ctx, grants, c, func(Grant) bool { return true })
	})
	if err != nil {
		return err
	}
	p.noticed()
	p.loggedOut(ctx, "hub", pair, c, why)
	return nil
}

// endSessions ends what belongs to sessions of the hub that ended: access tokens and logins
// without offline access. A refresh token for times when the person is away stays.
func (p *Provider) endSessions(ctx context.Context, tokenIDs []string) error {
	grants, err := p.config.Stores.Ended.GrantsIn(ctx, tokenIDs)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, g := range grants {
		if _, known := gone[g.TokenID]; known {
			continue
		}
		_, err := p.config.Identity.Caller(ctx, g.TokenID)
		if err != nil && !errcode.Is(err, errcode.Unauthorized) {
			return err
		}
		gone[g.TokenID] = err != nil
	}
	byClient := map[string][]Grant{}
	for _, g := range grants {
		if gone[g.TokenID] {
			byClient[g.ClientID] = append(byClient[g.ClientID], g)
		}
	}
	for id, grants := range byClient {
		c, err := p.config.Clients.Client(ctx, id)
		if errcode.Is(err, errcode.NotFound) {
			continue // its grants end by themselves
		}
		if err != nil {
			return err
		}
		err = p.config.Stores.Writer.Write(ctx, func(ctx context.Context) error {
			return p.endGrants(ctx, grants, &c, func(g Grant) bool { return !slices.Contains(g.Scopes, scopeOffline) })
		})
		if err != nil {
			return err
		}
	}
	if len(byClient) > 0 {
		p.noticed()
	}
	return nil
}

// endGrants deletes those of some grants of one client that ends holds for, takes the others
// out of their session, and queues a notice for each session.
func (p *Provider) endGrants(ctx context.Context, grants []Grant, c *application.Client, ends func(Grant) bool) error {
	now := clock.Micros(p.config.Clock.Now())
	var gone, outlive []string
	told := map[string]bool{}
	for _, g := range grants {
		if ends(g) {
			gone = append(gone, g.ID)
		} else {
			outlive = append(outlive, g.ID)
		}
		if c == nil || c.BackChannelLogoutURI == "" || g.TokenID == "" || told[g.SessionID] {
			continue // of a session that has ended, the application knows
		}
		told[g.SessionID] = true
		notice := Logout{ID: identity.NewID("lgo_"), ClientID: g.ClientID, UserID: g.UserID, SessionID: g.SessionID, DueAt: now, CreatedAt: now}
		if err := p.config.Stores.Ended.InsertLogout(ctx, notice); err != nil {
			return err
		}
	}
	if err := p.config.Stores.Ended.LeaveSession(ctx, outlive); err != nil {
		return err
	}
	return p.config.Stores.Grants.DeleteGrants(ctx, gone)
}
