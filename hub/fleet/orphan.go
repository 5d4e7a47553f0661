package fleet

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/rule"
)

// ReasonOrphaned is the reason of a service that an agent holds because it is in no list.
const ReasonOrphaned = "Orphaned"

// The limits of what is shown of such services of one cluster: in its message, in its list, and
// of one.
const (
	maxOrphans       = 5
	maxListedOrphans = 1000
	maxOrphanText    = 1000
)

// Orphan is a service that a cluster has and the hub does not, such as one that a backup of the
// cluster brought back. Its agent says what it is and how it is removed by hand.
type Orphan struct {
	ServiceID, ClusterID, Cluster string
	ReportedAt                    int64
	Message                       string
}

// Orphans returns those of the clusters within reach.
func (f *clusters) Orphans(ctx context.Context, reach identity.Reach, limit int) ([]Orphan, error) {
	all, err := f.store.Orphans(ctx, "", reach, limit)
	for i := range all {
		all[i].Message = plain.Line(all[i].Message, maxOrphanText)
	}
	return all, err
}

// OrphansOf returns those of one cluster, and describes the first of them; empty if there are
// none.
func (f *clusters) OrphansOf(ctx context.Context, c Cluster) (all []Orphan, text string, err error) {
	all, err = f.store.Orphans(ctx, c.ID, identity.Reach{Everywhere: true, Administrator: true}, maxListedOrphans)
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	texts := []string{"it has services that the hub does not know (axle clusters orphans list " + c.Name + ")"}
	for i := range all {
		all[i].Message = plain.Line(all[i].Message, maxOrphanText)
		if i < maxOrphans {
			texts = append(texts, all[i].ServiceID+": "+all[i].Message)
		}
	}
	if len(all) > maxOrphans {
		texts = append(texts, "there are more")
	}
	return all, strings.Join(texts, "; "), nil
}

// orphanName is the name of the row by which a service leaves that the hub does not know. A
// service of its own name may be there again.
func orphanName(id string) string {
	_, random, found := strings.Cut(id, "-")
	if !found {
		random = id
	}
	return "orphan-" + random
}

// SettleOrphan has a cluster's agent remove a service that the hub does not know, with its
// objects or, to keep them, without. It does so by a tombstone, the only thing that ends a
// service on a cluster: the row that carries it goes when the agent has reported that it is
// done. Meanwhile the service is there, and can be settled again: to keep what is left.
func (f *Fleet) SettleOrphan(ctx context.Context, by, cluster, id string, keep bool) (Service, error) {
	v, err := f.write(ctx, false, func(ctx context.Context) (StoredService, error) {
		c, err := f.store.ClusterByName(ctx, cluster)
		if err != nil {
			return StoredService{}, err
		}
		how := Drain
		if keep {
			how = Detach
		}
		s, err := f.store.ServiceByRef(ctx, Ref{c.Name, orphanName(id)})
		if err == nil && s.ID == id && s.Deleting != "" {
			if s.Deleting == how || s.Deleting == Detach {
				return s, nil
			}
			s.Deleting, s.UpdatedAt = how, f.now()
			if err := f.store.UpdateService(ctx, s); err != nil {
				return s, err
			}
			return s, recordService(ctx, s.Service, "service.deleting", by, string(how))
		}
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return s, err
		}
		rows, err := f.store.RowsByID(ctx, []string{id})
		if err != nil {
			return s, err
		}
		reported, err := f.store.StatusesByID(ctx, []string{id})
		if err != nil {
			return s, err
		}
		if is := reported[id]; len(rows) > 0 || is.ClusterID != c.ID || is.Reason != ReasonOrphaned || !rule.Label.Valid(orphanName(id)) {
			return s, errcode.New(errcode.NotFound, "cluster %s has no service %.80q that the hub does not know; axle clusters orphans list %s shows those that it has", c.Name, id, c.Name)
		}
		now := f.now()
		s = StoredService{Service: Service{
			ID: id, ClusterID: c.ID, Cluster: c.Name, Name: orphanName(id), ProjectID: DefaultProjectID, Project: DefaultProject,
			Deleting: how, TombstoneID: identity.NewID("tmb_"), CreatedAt: now, UpdatedAt: now,
		}}
		if err := f.store.InsertService(ctx, s); err != nil {
			return s, err
		}
		return s, recordService(ctx, s.Service, "service.deleting", by, string(how)+", the hub did not know it")
	})
	return v.Service, err
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
