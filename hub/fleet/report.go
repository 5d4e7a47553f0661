package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxReports limits one call of an agent and what is stored for it: far more
// services than a cluster has.
const maxReports = 10000

// maxTold is how many statuses one report names in the feed; with more, the
// feed names the whole cluster.
const maxTold = 100

// reports take what agents report.
type reports struct {
	times
	store        Store
	writer       Writer
	live         *Memory
	dependencies Dependencies
}

// StoreReports stores an agent's statuses and deletes drained tombstones. When
// it returns, they are committed. A report whose base is not what is stored is
// left out and named in Resync; one that is already stored is accepted. The cost
// depends on the size of the report, however many services the cluster has.
func (f *reports) StoreReports(ctx context.Context, b ReportBatch) (ReportResult, error) {
	if len(b.Reports) > maxReports || len(b.Drained) > maxReports {
		return ReportResult{}, errcode.New(errcode.Invalid, "a report holds at most %d services", maxReports)
	}
	var r *reporting
	err := f.writer.WriteBatched(ctx, func(ctx context.Context) (err error) {
		r = &reporting{reports: f, batch: b, changes: map[string]reported.Status{}}
		return r.run(ctx)
	})
	if err != nil {
		return ReportResult{}, err
	}
	// The hash for answers to polls is updated through the feed, as on every
	// replica, because this transaction may be part of the caller's.
	if r.now != nil {
		f.live.Hashes.Keep(b.ClusterID, r.now)
	}
	return r.result, nil
}

// reporting is the state of one StoreReports call.
type reporting struct {
	*reports
	batch   ReportBatch
	cluster Cluster
	sum     reported.Sum
	result  ReportResult
	// changes are the statuses to store, by service; zero for those to delete.
	changes map[string]reported.Status
	// now are the statuses stored afterwards, nil when nothing changed.
	now *reported.Statuses
	// ready are the services that became ready with this report.
	ready []Ref
}

func (r *reporting) run(ctx context.Context) (err error) {
	if r.cluster, err = r.store.ClusterByID(ctx, r.batch.ClusterID); err != nil {
		return err
	}
	sums, err := r.store.StatusSums(ctx, []string{r.cluster.ID})
	if err != nil {
		return err
	}
	r.sum = sums[r.cluster.ID]
	puts, err := r.take(ctx)
	if err != nil {
		return err
	}
	if err := r.dropUnlisted(ctx); err != nil {
		return err
	}
	if err := r.drained(ctx); err != nil {
		return err
	}
	if err := r.healed(ctx); err != nil {
		return err
	}
	if r.result.StatusHash = r.sum.Hash; len(r.changes) == 0 {
		return nil
	}
	stored := r.live.Hashes.At(r.cluster.ID, r.sum.Edition)
	if stored == nil {
		all, err := r.store.StatusHashes(ctx, r.cluster.ID)
		if err != nil {
			return err
		}
		stored = reported.Of(all)
	}
	r.now = stored.With(r.changes)
	r.result.StatusHash = r.now.Hash
	if err := r.store.PutStatuses(ctx, r.cluster.ID, puts, r.now.Sum); err != nil {
		return err
	}
	if err := r.dependencies.Ready(ctx, r.ready); err != nil {
		return err
	}
	return r.tell(ctx)
}

// tell appends what changed: the cluster, and the services when they are few.
func (r *reporting) tell(ctx context.Context) error {
	if err := event.Append(ctx, event.Change{Kind: event.KindReport, Key: r.cluster.ID, Cluster: r.cluster.ID}); err != nil {
		return err
	}
	if len(r.changes) > maxTold {
		return event.Append(ctx, event.Change{Kind: event.KindStatus, Cluster: r.cluster.ID})
	}
	for id := range r.changes {
		if err := event.Append(ctx, event.Change{Kind: event.KindStatus, Key: id, Cluster: r.cluster.ID}); err != nil {
			return err
		}
	}
	return nil
}

// take returns the statuses to store.
func (r *reporting) take(ctx context.Context) (puts []StoredStatus, err error) {
	var ids []string
	for _, one := range r.batch.Reports {
		ids = append(ids, one.ServiceID)
	}
	known, err := r.store.RowsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]Row, len(known))
	for _, row := range known {
		rows[row.ID] = row
	}
	before, err := r.store.StatusesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, one := range r.batch.Reports {
		row, exists := rows[one.ServiceID]
		was, had := before[one.ServiceID]
		if exists && row.ClusterID != r.cluster.ID || had && was.ClusterID != r.cluster.ID {
			continue // a service of another cluster: this agent may not report it
		}
		switch {
		case !had && r.sum.Count+len(puts) >= maxReports, was.Hash == one.NewHash:
			continue
		case one.BaseHash != "" && one.BaseHash != was.Hash:
			r.result.Resync = append(r.result.Resync, one.ServiceID)
			continue
		}
		now := StoredStatus{ServiceID: one.ServiceID, ClusterID: r.cluster.ID, Hash: one.NewHash, ReportedAt: r.reports.now(), Status: one.Status}
		puts = append(puts, now)
		before[one.ServiceID], r.changes[one.ServiceID] = now, now.kept()
		if !exists {
			if err := recordOrphan(ctx, r.cluster, one.ServiceID, was.Status, one.Status); err != nil {
				return nil, err
			}
			continue
		}
		if one.Status.becameReady(was.Status) {
			r.ready = append(r.ready, Ref{r.cluster.Name, row.Name})
		}
		if err := recordReport(ctx, r.cluster, row, was.Status, one.Status); err != nil {
			return nil, err
		}
	}
	return puts, nil
}

// dropUnlisted removes what a complete report does not list.
func (r *reporting) dropUnlisted(ctx context.Context) error {
	if !r.batch.Whole {
		return nil
	}
	stored, err := r.store.StatusHashes(ctx, r.cluster.ID)
	if err != nil {
		return err
	}
	for _, one := range r.batch.Reports {
		delete(stored, one.ServiceID)
	}
	for id := range stored {
		r.changes[id] = reported.Status{}
	}
	return r.store.DeleteStatuses(ctx, slices.Sorted(maps.Keys(stored)))
}

// drained removes the services whose tombstones the agent has completed.
func (r *reporting) drained(ctx context.Context) error {
	if len(r.batch.Drained) == 0 {
		return nil
	}
	services, err := r.store.ServicesOfCluster(ctx, r.cluster.ID, r.batch.Drained)
	if err != nil {
		return err
	}
	for _, s := range services {
		if err := forgetService(ctx, r.store, s.Service, "agent "+r.cluster.Name, "it left by "+string(s.Deleting)); err != nil {
			return err
		}
		r.changes[s.ID] = reported.Status{}
	}
	return nil
}

// recordReport records the events that people want to know of: an applied
// revision, a failure, and its end. Everything else is shown on the service.
func recordReport(ctx context.Context, cluster Cluster, row Row, before, now Status) error {
	entry := event.Entry{
		Object: "service " + Ref{cluster.Name, row.Name}.String(), By: "agent " + cluster.Name,
		Message: now.Message, Cluster: row.ClusterID, Service: row.ID, Cause: short(now.SourceRevision),
	}
	switch {
	case now.bad() && !before.bad():
		entry.Kind = "service.failed"
	case !now.bad() && before.bad():
		entry.Kind = "service.recovered"
	case now.Sync == Synced && before.differs(now):
		entry.Kind, entry.Message = "service.applied", "revision "+short(now.SourceRevision)
	default:
		return nil
	}
	return event.Record(ctx, entry)
}

// bad reports whether the status is a failure for people.
func (s Status) bad() bool { return s.Sync == Failed || s.Health == Degraded }

// Applied reports whether the agent runs what it says, drift aside.
func (s Status) Applied() bool { return s.Sync == Synced || s.Sync == Drifted }

// becameReady reports whether who depends on the service may go on since this report.
func (s Status) becameReady(was Status) bool {
	ready := func(s Status) bool { return s.Applied() && s.Health == Healthy }
	return ready(s) && (!ready(was) || s.TarballDigest != was.TarballDigest || s.SpecDigest != was.SpecDigest)
}

// differs reports whether something else is applied for people: other files, or
// settings that made a revision or changed an object. Settings of the hub or
// the project that change nothing for the service do not count.
func (s Status) differs(now Status) bool {
	return s.TarballDigest != now.TarballDigest ||
		s.SpecDigest != now.SpecDigest && (s.Revision != now.Revision || s.AppliedAt != now.AppliedAt)
}
