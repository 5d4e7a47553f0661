package fleet

import (
	"context"
	"reflect"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/plain"
)

// maxLeft is how many objects of a cleanup are kept; there may be more.
const maxLeft = 50

// Cleanup is the first part of a cluster's destruction: its own agent removes what the
// cluster holds at providers.
type Cleanup struct {
	StartedAt int64 `json:"startedAt,omitempty"`
	// ReportedAt is when a report last changed it, 0 for never.
	ReportedAt int64 `json:"reportedAt,omitempty"`
	// EndedAt is 0 while it goes on.
	EndedAt int64 `json:"endedAt,omitempty"`
	// Left are objects whose deletion is waited for, and More counts the others.
	Left []Leftover `json:"left,omitempty"`
	More int        `json:"more,omitempty"`
	// Message is why the agent does not know all that is left.
	Message string `json:"message,omitempty"`
	// Forced is set when somebody ended it, with what was left.
	Forced bool `json:"forced,omitempty"`
}

// Leftover is an object of a cluster that is being destroyed.
type Leftover struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Message is what it waits for, since when its deletion was requested.
	Message string `json:"message,omitempty"`
	Since   int64  `json:"since,omitempty"`
}

// Running reports whether machines wait for it; nil is none.
func (c *Cleanup) Running() bool { return c != nil && c.StartedAt != 0 && c.EndedAt == 0 }

// bound cuts what an agent reported to what is stored.
func (c *Cleanup) bound() {
	c.More = max(0, c.More) + max(0, len(c.Left)-maxLeft)
	c.Left = c.Left[:min(len(c.Left), maxLeft)]
	for i := range c.Left {
		l := &c.Left[i]
		for _, text := range []*string{&l.Kind, &l.Namespace} {
			*text = plain.Line(*text, maxStateWord)
		}
		l.Name, l.Message = plain.Line(l.Name, maxStateText), plain.Line(l.Message, maxStateText)
	}
	c.Message = plain.Line(c.Message, maxStateText)
}

// StoreCleanup stores what a cluster that is being destroyed still holds at providers, as its
// own agent reports it. Once that is done, the machines go. It does nothing for a cluster that
// waits for no such report: an agent may repeat the last one.
func (f *clusters) StoreCleanup(ctx context.Context, clusterID string, r Cleanup, done bool) error {
	r.bound()
	return f.writer.Write(ctx, func(ctx context.Context) error {
		c, err := f.store.ClusterByID(ctx, clusterID)
		if err != nil || !c.Origin.Destroying || !c.Cleanup.Running() {
			return err
		}
		now := r
		now.StartedAt, now.ReportedAt, now.EndedAt, now.Forced = c.Cleanup.StartedAt, c.Cleanup.ReportedAt, 0, false
		if !done && c.Cleanup.ReportedAt != 0 && reflect.DeepEqual(now, *c.Cleanup) {
			return nil
		}
		if now.ReportedAt = f.now(); done {
			return f.endCleanup(ctx, c, now, "agent of "+c.Name)
		}
		return f.putCleanup(ctx, c, now)
	})
}

// endCleanup ends a cleanup, after which the service that made the cluster is drained.
func (f *clusters) endCleanup(ctx context.Context, c Cluster, now Cleanup, by string) error {
	if err := f.leaveMaker(ctx, c, by, Drain); err != nil {
		return err
	}
	now.EndedAt = f.now()
	return f.putCleanup(ctx, c, now)
}

func (f *clusters) putCleanup(ctx context.Context, c Cluster, now Cleanup) error {
	c.Cleanup = &now
	if err := f.store.UpdateCluster(ctx, c); err != nil {
		return err
	}
	return event.Append(ctx, event.Change{Kind: event.KindCluster, Key: c.ID, Cluster: c.ID})
}
