// Package statuses stores what agents report about services in the hub's
// database, and one summary row per cluster. hub/store embeds its Table;
// hub/fleet decides what is stored.
//
// Invariants: a report writes the statuses that it contains, and one narrow row
// of its cluster.
package statuses

import (
	"context"
	"encoding/base64"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/hub/store/query"
)

// Table holds all statuses. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the statuses in a database.
func New(db query.DB) *Table { return &Table{db} }

// PutStatuses implements fleet.StatusStore.
func (t *Table) PutStatuses(ctx context.Context, clusterID string, all []fleet.StoredStatus, sum reported.Sum) error {
	var rows query.Values
	at := map[string]int{} // of several for one service, the last one wins
	for i, s := range all {
		at[s.ServiceID] = i
	}
	for i, s := range all {
		if at[s.ServiceID] != i {
			continue
		}
		problems, err := query.JSON(s.Errors)
		if err != nil {
			return err
		}
		counts, err := query.JSON(s.Counts)
		if err != nil {
			return err
		}
		rows.Add(s.ServiceID, clusterID, s.Hash, s.ReportedAt, s.Sync, s.Reason, s.Health, s.Message, problems, s.TarballDigest,
			s.SpecDigest, s.Revision, s.SourceRevision, s.AppliedAt, counts, base64.StdEncoding.EncodeToString(s.Components))
	}
	err := rows.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, `INSERT INTO statuses (service_id, cluster_id, hash, reported_at, sync, reason, health, message,
			errors, tarball_digest, spec_digest, revision, source_revision, applied_at, counts, components) VALUES `+list+`
			ON CONFLICT (service_id) DO UPDATE SET cluster_id = excluded.cluster_id, hash = excluded.hash,
			reported_at = excluded.reported_at, sync = excluded.sync, reason = excluded.reason, health = excluded.health,
			message = excluded.message, errors = excluded.errors, tarball_digest = excluded.tarball_digest,
			spec_digest = excluded.spec_digest, revision = excluded.revision, source_revision = excluded.source_revision,
			applied_at = excluded.applied_at, counts = excluded.counts, components = excluded.components`, args...)
		return err
	})
	if err != nil {
		return err
	}
	counts, err := query.List(sum.Counts)
	if err != nil {
		return err
	}
	_, err = t.db.Exec(ctx, `INSERT INTO status_sums (cluster_id, edition, hash, count, counts) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (cluster_id) DO UPDATE SET edition = excluded.edition, hash = excluded.hash, count = excluded.count, counts = excluded.counts`,
		clusterID, sum.Edition, sum.Hash, sum.Count, counts)
	return err
}

// DeleteStatuses implements fleet.StatusStore.
func (t *Table) DeleteStatuses(ctx context.Context, serviceIDs []string) error {
	return query.Chunks(serviceIDs, func(args []any) error {
		_, err := t.db.Exec(ctx, "DELETE FROM statuses WHERE service_id IN ("+query.Placeholders(1, len(args))+")", args...)
		return err
	})
}

// ForgetCluster removes the statuses of a deleted cluster.
func (t *Table) ForgetCluster(ctx context.Context, clusterID string) error {
	for _, table := range []string{"statuses", "status_sums", "heals_taken"} {
		if _, err := t.db.Exec(ctx, "DELETE FROM "+table+" WHERE cluster_id = $1", clusterID); err != nil {
			return err
		}
	}
	return nil
}

func scan(row query.Scan) (t fleet.StoredStatus, err error) {
	var problems, counts string
	err = row(&t.ServiceID, &t.ClusterID, &t.Hash, &t.ReportedAt, &t.Sync, &t.Reason, &t.Health, &t.Message, &problems,
		&t.TarballDigest, &t.SpecDigest, &t.Revision, &t.SourceRevision, &t.AppliedAt, &counts)
	if err != nil {
		return t, err
	}
	if err := query.FromJSON(problems, &t.Errors); err != nil {
		return t, err
	}
	return t, query.FromJSON(counts, &t.Counts)
}

// StatusesByID implements fleet.StatusStore.
func (t *Table) StatusesByID(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredStatus, error) {
	all := map[string]fleet.StoredStatus{}
	err := query.Chunks(serviceIDs, func(args []any) error {
		part, err := query.All(ctx, t.db, scan, `SELECT service_id, cluster_id, hash, reported_at, sync, reason, health, message,
			errors, tarball_digest, spec_digest, revision, source_revision, applied_at, counts
			FROM statuses WHERE service_id IN (`+query.Placeholders(1, len(args))+")", args...)
		for _, s := range part {
			all[s.ServiceID] = s
		}
		return err
	})
	return all, err
}

// Components implements fleet.StatusStore.
func (t *Table) Components(ctx context.Context, serviceID string) ([]byte, error) {
	text, _, err := query.One(ctx, t.db, query.Value[string], "SELECT components FROM statuses WHERE service_id = $1", serviceID)
	if err != nil || text == "" {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// StatusHashes implements fleet.StatusStore.
func (t *Table) StatusHashes(ctx context.Context, clusterID string) (map[string]reported.Status, error) {
	all := map[string]reported.Status{}
	err := t.db.Each(ctx, "SELECT service_id, hash, sync, health FROM statuses WHERE cluster_id = $1", []any{clusterID}, func(row query.Scan) error {
		var id, hash string
		var is reported.State
		err := row(&id, &hash, &is.Sync, &is.Health)
		all[id] = reported.StatusOf(hash, is)
		return err
	})
	return all, err
}

// StatusSums implements fleet.StatusStore.
func (t *Table) StatusSums(ctx context.Context, clusterIDs []string) (map[string]reported.Sum, error) {
	sums := map[string]reported.Sum{}
	read := func(where string, args []any) error {
		return t.db.Each(ctx, "SELECT cluster_id, edition, hash, count, counts FROM status_sums"+where, args, func(row query.Scan) error {
			var id, counts string
			var s reported.Sum
			if err := row(&id, &s.Edition, &s.Hash, &s.Count, &counts); err != nil {
				return err
			}
			if err := query.FromList(counts, &s.Counts); err != nil {
				return err
			}
			sums[id] = s
			return nil
		})
	}
	if clusterIDs == nil {
		return sums, read("", nil)
	}
	return sums, query.Chunks(clusterIDs, func(args []any) error {
		return read(" WHERE cluster_id IN ("+query.Placeholders(1, len(args))+")", args)
	})
}
