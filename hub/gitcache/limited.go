package gitcache

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/repoagent"
)

const (
	// maxOpenings is how many agents at once open what an earlier run left.
	maxOpenings = 16
	// maxAgentCalls is how many calls agents make to the store at once. Further
	// calls wait here, so that they do not delay the renewals of the agents'
	// leases.
	maxAgentCalls = 16
)

// limited is the store for agents. It limits the concurrent calls of all agents
// together.
type limited struct {
	rows    repoagent.Rows
	results repoagent.Results
	slots   chan struct{}
}

func newLimited(s Store) *limited { return &limited{s, s, make(chan struct{}, maxAgentCalls)} }

// in makes one call when there is a free slot.
func in[T any](ctx context.Context, l *limited, call func() (T, error)) (T, error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		return call()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// done adapts a call that returns only an error.
func done(err error) (struct{}, error) { return struct{}{}, err }

// StartFetch implements repoagent.Results.
func (l *limited) StartFetch(ctx context.Context, repositoryID string, epoch int64, gap time.Duration) error {
	_, err := in(ctx, l, func() (struct{}, error) { return done(l.results.StartFetch(ctx, repositoryID, epoch, gap)) })
	return err
}

// Repository implements repoagent.Rows.
func (l *limited) Repository(ctx context.Context, id string) (Repository, error) {
	return in(ctx, l, func() (Repository, error) { return l.rows.Repository(ctx, id) })
}

// Credentials implements repoagent.Rows.
func (l *limited) Credentials(ctx context.Context, repositoryID string) (Credentials, error) {
	return in(ctx, l, func() (Credentials, error) { return l.rows.Credentials(ctx, repositoryID) })
}

// Sources implements repoagent.Rows.
func (l *limited) Sources(ctx context.Context, repositoryID string) ([]Source, error) {
	return in(ctx, l, func() ([]Source, error) { return l.rows.Sources(ctx, repositoryID) })
}

// Heads implements repoagent.Rows.
func (l *limited) Heads(ctx context.Context, repositoryID string) ([]Head, error) {
	return in(ctx, l, func() ([]Head, error) { return l.rows.Heads(ctx, repositoryID) })
}

// WriteHeads implements repoagent.Results.
func (l *limited) WriteHeads(ctx context.Context, repositoryID string, epoch int64, heads []Head, artifacts []Artifact) error {
	_, err := in(ctx, l, func() (struct{}, error) {
		return done(l.results.WriteHeads(ctx, repositoryID, epoch, heads, artifacts))
	})
	return err
}

// WriteHealth implements repoagent.Results.
func (l *limited) WriteHealth(ctx context.Context, repositoryID string, epoch int64, h Health) error {
	_, err := in(ctx, l, func() (struct{}, error) { return done(l.results.WriteHealth(ctx, repositoryID, epoch, h)) })
	return err
}

// Pins implements repoagent.Rows.
func (l *limited) Pins(ctx context.Context, repositoryID string) ([]Pin, error) {
	return in(ctx, l, func() ([]Pin, error) { return l.rows.Pins(ctx, repositoryID) })
}
