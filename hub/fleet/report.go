package fleet

import (
	"context"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxReports bounds one call of an agent and what is stored for it: far more
// services than a cluster has.
const maxReports = 10000

// StoreReports stores an agent's statuses and ends drained tombstones. When it
// returns, they are committed. A report whose base is not what is stored is
// left out and named in Resync, one that is stored already is fine.
func (f *Fleet) StoreReports(ctx context.Context, b ReportBatch) (ReportResult, error) {
	if len(b.Reports) > maxReports || len(b.Drained) > maxReports {
		return ReportResult{}, errcode.New(errcode.Invalid, "a report holds at most %d services", maxReports)
	}
	var result ReportResult
	err := f.writer.WriteBatched(ctx, func(ctx context.Context) error {
		result = ReportResult{}
		cluster, err := f.store.ClusterByID(ctx, b.ClusterID)
		if err != nil {
			return err
		}
		stored, err := f.store.StatusHashes(ctx, b.ClusterID)
		if err != nil {
			return err
		}
		changed, err := f.takeReports(ctx, cluster, b, stored, &result)
		if err != nil {
			return err
		}
		dropped, err := f.dropUnlisted(ctx, b, stored)
		if err != nil {
			return err
		}
		drained, err := f.drained(ctx, cluster, b.Drained, stored)
		if err != nil {
			return err
		}
		result.StatusHash = hashStatuses(stored)
		if !changed && !dropped && !drained {
			return nil
		}
		return event.Append(ctx, event.Change{Kind: event.KindReport, Key: b.ClusterID, Cluster: b.ClusterID})
	})
	if err != nil {
		return ReportResult{}, err
	}
	// The hash in memory follows by the feed, like every replica's: here the
	// transaction may be a part of the caller's and not be committed yet.
	return result, nil
}

// takeReports stores what fits and brings stored up to date.
func (f *Fleet) takeReports(ctx context.Context, cluster Cluster, b ReportBatch, stored map[string]string, result *ReportResult) (changed bool, err error) {
	var ids []string
	for _, r := range b.Reports {
		if stored[r.ServiceID] != r.NewHash {
			ids = append(ids, r.ServiceID)
		}
	}
	known, err := f.store.RowsByID(ctx, ids)
	if err != nil {
		return false, err
	}
	rows := make(map[string]Row, len(known))
	for _, row := range known {
		rows[row.ID] = row
	}
	before, err := f.store.StatusesByID(ctx, ids)
	if err != nil {
		return false, err
	}
	for _, r := range b.Reports {
		row, exists := rows[r.ServiceID]
		if exists && row.ClusterID != b.ClusterID {
			continue // another cluster's: not this agent's to say
		}
		if _, had := stored[r.ServiceID]; !had && len(stored) >= maxReports {
			continue
		}
		switch hash := stored[r.ServiceID]; {
		case hash == r.NewHash:
			continue
		case r.BaseHash != "" && r.BaseHash != hash:
			result.Resync = append(result.Resync, r.ServiceID)
			continue
		}
		err := f.store.PutStatus(ctx, StoredStatus{
			ServiceID: r.ServiceID, ClusterID: b.ClusterID, Hash: r.NewHash, ReportedAt: f.now(), Status: r.Status,
		})
		if err != nil {
			return false, err
		}
		stored[r.ServiceID], changed = r.NewHash, true
		if exists {
			if err := recordReport(ctx, cluster, row, before[r.ServiceID].Status, r.Status); err != nil {
				return false, err
			}
		}
	}
	return changed, nil
}

// dropUnlisted removes what a whole report does not list.
func (f *Fleet) dropUnlisted(ctx context.Context, b ReportBatch, stored map[string]string) (bool, error) {
	if !b.Whole {
		return false, nil
	}
	listed := make(map[string]bool, len(b.Reports))
	for _, r := range b.Reports {
		listed[r.ServiceID] = true
	}
	var gone []string
	for id := range stored {
		if !listed[id] {
			gone = append(gone, id)
			delete(stored, id)
		}
	}
	slices.Sort(gone)
	return len(gone) > 0, f.store.DeleteStatuses(ctx, gone)
}

// drained removes the services whose tombstones the agent has worked off.
func (f *Fleet) drained(ctx context.Context, cluster Cluster, tombstones []string, stored map[string]string) (bool, error) {
	if len(tombstones) == 0 {
		return false, nil
	}
	services, err := f.store.ServicesOfCluster(ctx, cluster.ID)
	if err != nil {
		return false, err
	}
	any := false
	for _, s := range services {
		if s.TombstoneID == "" || !slices.Contains(tombstones, s.TombstoneID) {
			continue
		}
		if err := f.forgetService(ctx, s.Service, "agent "+cluster.Name, "it left by "+string(s.Deleting)); err != nil {
			return false, err
		}
		delete(stored, s.ID)
		any = true
	}
	return any, nil
}

// recordReport tells people what they would want to hear of: a revision that
// is applied, a failure, and its end. Everything else is on the service.
func recordReport(ctx context.Context, cluster Cluster, row Row, before, now Status) error {
	entry := event.Entry{
		Object: "service " + Ref{cluster.Name, row.Name}.String(), By: "agent " + cluster.Name,
		Message: now.Message, Cluster: row.ClusterID, Service: row.ID,
	}
	switch {
	case now.bad() && !before.bad():
		entry.Kind = "service.failed"
	case !now.bad() && before.bad():
		entry.Kind = "service.recovered"
	case now.Sync == Synced && (before.TarballDigest != now.TarballDigest || before.SpecDigest != now.SpecDigest):
		entry.Kind, entry.Message = "service.applied", "revision "+short(now.SourceRevision)
	default:
		return nil
	}
	return event.Record(ctx, entry)
}

// bad reports what people call failed.
func (s Status) bad() bool { return s.Sync == Failed || s.Health == Degraded }
