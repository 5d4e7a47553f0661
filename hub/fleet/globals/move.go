package globals

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/hub/fleet"
)

// Moving returns which global services a cluster leaves or gets when it changes as
// given, for a plan; the comparison that follows the change does it.
func (g *Globals) Moving(ctx context.Context, before, after fleet.Cluster) (changes []fleet.MoveChange, err error) {
	made, err := g.config.States.MadeOn(ctx, before.ID)
	if err != nil {
		return nil, err
	}
	for name := ""; ; {
		all, err := g.config.Store.Globals(ctx, name, chunk, nil)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			name = v.Name
			had, has := slices.Contains(made, v.ID), v.selects(after)
			switch {
			case had && !has:
				changes = append(changes, v.leaving(before))
			case has && !had && !v.selects(before):
				changes = append(changes, fleet.MoveChange{Kind: "global_service", Object: noun(v.Name), Message: "begins to select the cluster"})
			}
		}
		if len(all) < chunk {
			return changes, nil
		}
	}
}

// leaving is the change of a global service that does not select a cluster any more.
func (g Global) leaving(c fleet.Cluster) fleet.MoveChange {
	change := fleet.MoveChange{Kind: "global_service", Object: noun(g.Name), Message: "does not select the cluster any more, and its service there stays as a service of nobody"}
	switch {
	case g.Cascade == Delete && c.Registered():
		change.Message, change.Deletes = "does not select the cluster any more, and its service there is deleted with its objects, unless the service is protected", true
	case g.Cascade != Orphan:
		change.Message = "does not select the cluster any more, and its service leaves the hub; its objects stay on the cluster"
	}
	return change
}
