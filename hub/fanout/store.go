package fanout

import "context"

// RolloutStore stores rollouts. Methods that change something run in the transaction
// of the context; reads do so where there is one.
type RolloutStore interface {
	// InsertRollout adds a rollout. Conflict when the subject has an active
	// one.
	InsertRollout(ctx context.Context, r Rollout) error
	// UpdateRollout writes the fields that change over a rollout's life.
	UpdateRollout(ctx context.Context, r Rollout) error
	// LatestRollout returns a subject's newest rollout, or NotFound.
	LatestRollout(ctx context.Context, subject string) (Rollout, error)
}

// TargetStore stores the clusters of rollouts, as RolloutStore does.
type TargetStore interface {
	// RolloutTargets returns the targets of a rollout, in order of wave and
	// cluster; nil clusters means all.
	RolloutTargets(ctx context.Context, rolloutID string, clusterIDs []string) ([]Target, error)
	// PutRolloutTargets adds or overwrites.
	PutRolloutTargets(ctx context.Context, targets []Target) error
	// DeleteRolloutTargets removes deleted clusters.
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
	// Members returns the clusters that it is for, in any order; nil clusters
	// means all.
	Members(ctx context.Context, clusterIDs []string) ([]Member, error)
	// Place gives clusters a payload, in the transaction of the context. It
	// returns the reason for each cluster that cannot be placed.
	Place(ctx context.Context, clusterIDs []string, payload string) (refused map[string]string, err error)
	// Judge returns the state of placed clusters.
	Judge(ctx context.Context, version string, clusterIDs []string) (map[string]Verdict, error)
}
