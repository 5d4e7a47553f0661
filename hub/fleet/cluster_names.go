package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/risk"
)

// Management is the name and the handle of the hub's own cluster. Global services leave
// it out by this handle, so only administrators give it.
const Management = risk.Management

// claimNames checks the name and the handle of a cluster that is new, or the handle of
// one that changes it. Names and handles are one set: what names one cluster in one place
// must not name another one elsewhere. Clusters of before this rule keep theirs.
func (f *clusters) claimNames(ctx context.Context, before, c Cluster, fleetWide bool) error {
	fresh := before.ID == ""
	if !fresh && before.Handle == c.Handle {
		return nil
	}
	if !fleetWide && (c.Handle == Management || fresh && c.Name == Management) {
		return errcode.New(errcode.Forbidden, "handle: %s is the hub's own cluster; only an administrator, or who may write the whole hub, gives this name; choose another one", Management)
	}
	if err := f.taken(ctx, c, f.store.ClusterByName, c.Handle); err != nil {
		return err
	}
	if fresh {
		if err := f.taken(ctx, c, f.store.ClusterByHandle, c.Name); err != nil {
			return err
		}
	}
	if c.Handle == c.Name {
		return nil // the indexes of names and of handles find every other one
	}
	// Two transactions that cross do not see each other's rows.
	for _, name := range []string{c.Name, c.Handle} {
		claim := event.Change{Kind: event.KindCluster, Key: "name " + name}
		if err := event.Append(ctx, claim); err != nil {
			return err
		}
		if err := event.DependsOn(ctx, claim); err != nil {
			return err
		}
	}
	return nil
}

// taken returns Conflict if a look-up finds another cluster.
func (f *clusters) taken(ctx context.Context, c Cluster, look func(ctx context.Context, name string) (Cluster, error), name string) error {
	found, err := look(ctx, name)
	switch {
	case errcode.Is(err, errcode.NotFound) || err == nil && found.ID == c.ID:
		return nil
	case err != nil:
		return err
	}
	return errcode.New(errcode.Conflict, "another cluster has the name or the handle %s; choose another one", name)
}
