package fanout

import "context"

// Store keeps rollouts. Methods that change run in the transaction of the
// context; reads do where there is one.
type Store interface {
	// InsertRollout adds one. Conflict when the subject has an active one.
	InsertRollout(ctx context.Context, r Rollout) error
	// UpdateRollout writes what changes over a rollout's life.
	UpdateRollout(ctx context.Context, r Rollout) error
	// LatestRollout returns a subject's newest, or NotFound.
	LatestRollout(ctx context.Context, subject string) (Rollout, error)
	// RolloutTargets returns a rollout's, in order of wave and cluster; nil
	// clusters are all.
	RolloutTargets(ctx context.Context, rolloutID string, clusterIDs []string) ([]Target, error)
	// PutRolloutTargets adds or overwrites.
	PutRolloutTargets(ctx context.Context, targets []Target) error
	// DeleteRolloutTargets forgets clusters that are gone.
	DeleteRolloutTargets(ctx context.Context, rolloutID string, clusterIDs []string) error
}

// Writer runs fn in a transaction; it may run it again.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
}

// Subject is what is rolled out.
type Subject interface {
	// Name is stored with the rollout.
	Name() string
	// Members are the clusters that it goes to, in any order; nil clusters are
	// all.
	Members(ctx context.Context, clusterIDs []string) ([]Member, error)
	// Place gives clusters a payload, in the transaction of the context. Those
	// that cannot take it come back with the reason.
	Place(ctx context.Context, clusterIDs []string, payload string) (refused map[string]string, err error)
	// Judge says how clusters do that were placed.
	Judge(ctx context.Context, version string, clusterIDs []string) (map[string]Verdict, error)
}
