package fleet

import (
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/plain"
)

// ReasonOrphaned is the reason of a service that an agent holds because it is in no list.
const ReasonOrphaned = "Orphaned"

// The limits of what is shown of such services of one cluster.
const (
	maxOrphans    = 5
	maxOrphanText = 1000
)

// Orphans describes the services that a cluster has and the hub does not, such as those that
// a backup of the cluster brought back; empty if there are none. The agent says which they
// are and how they are removed.
func (f *clusters) Orphans(ctx context.Context, clusterID string) (string, error) {
	found, err := f.store.Orphans(ctx, clusterID, maxOrphans+1)
	if err != nil || len(found) == 0 {
		return "", err
	}
	texts := []string{"it has services that the hub does not know"}
	for i, s := range found {
		if i == maxOrphans {
			texts = append(texts, "there are more")
			break
		}
		texts = append(texts, fmt.Sprintf("%s: %s", s.ServiceID, plain.Line(s.Message, maxOrphanText)))
	}
	return strings.Join(texts, "; "), nil
}

// recordOrphan records that a service was found on a cluster that the hub does not know.
func recordOrphan(ctx context.Context, c Cluster, id string, before, now Status) error {
	if now.Reason != ReasonOrphaned || before.Reason == ReasonOrphaned {
		return nil
	}
	return event.Record(ctx, event.Entry{
		Kind: "cluster.orphan", Object: "cluster " + c.Name, By: "agent " + c.Name, Cluster: c.ID, Message: id + ": " + plain.Line(now.Message, maxOrphanText),
	})
}
