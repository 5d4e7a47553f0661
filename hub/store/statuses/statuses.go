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
	"github.com/axle-cd/axle/hub/store/rows"
)

// Table holds all statuses. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the statuses in a database.
func New(db query.DB) *Table { return &Table{db} }

// Statuses are the rows of services, Sums those of clusters.
var (
	Statuses = rows.Of("statuses", func(c *rows.Columns, t *fleet.StoredStatus) {
		rows.JSON(c, "errors", &t.Errors)
		rows.JSON(c, "counts", &t.Counts)
		rows.Base64(c, "components", &t.Components)
		rows.Fields(c, t)
	}).Unread("components")
	selectStatuses = Statuses.Select()
	putStatuses    = Statuses.All().UpsertMany("service_id")

	Sums = rows.Of("status_sums", func(c *rows.Columns, s *ClusterSum) {
		rows.List(c, "counts", &s.Counts)
		rows.Fields(c, s)
	})
	selectSums = Sums.Select()
	putSum     = Sums.All().Upsert("cluster_id")
)

// ClusterSum is what is stored of a cluster as a whole.
type ClusterSum struct {
	ClusterID string
	reported.Sum
}

// PutStatuses implements fleet.StatusStore.
func (t *Table) PutStatuses(ctx context.Context, clusterID string, all []fleet.StoredStatus, sum reported.Sum) error {
	at := map[string]int{} // of several for one service, the last one wins
	for i, s := range all {
		at[s.ServiceID] = i
	}
	last := make([]fleet.StoredStatus, 0, len(at))
	for i, s := range all {
		if at[s.ServiceID] == i {
			s.ClusterID = clusterID
			last = append(last, s)
		}
	}
	if _, err := putStatuses.Exec(ctx, t.db, last); err != nil {
		return err
	}
	_, err := putSum.Exec(ctx, t.db, &ClusterSum{clusterID, sum})
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

// StatusesByID implements fleet.StatusReader.
func (t *Table) StatusesByID(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredStatus, error) {
	all := map[string]fleet.StoredStatus{}
	err := query.Chunks(serviceIDs, func(args []any) error {
		part, err := query.All(ctx, t.db, Statuses.Reader(), selectStatuses+"WHERE service_id IN ("+query.Placeholders(1, len(args))+")", args...)
		for _, s := range part {
			all[s.ServiceID] = s
		}
		return err
	})
	return all, err
}

// Components implements fleet.StatusReader.
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

// StatusSums implements fleet.LivenessStore.
func (t *Table) StatusSums(ctx context.Context, clusterIDs []string) (map[string]reported.Sum, error) {
	sums := map[string]reported.Sum{}
	read := func(where string, args []any) error {
		all, err := query.All(ctx, t.db, Sums.Reader(), selectSums+where, args...)
		for _, s := range all {
			sums[s.ClusterID] = s.Sum
		}
		return err
	}
	if clusterIDs == nil {
		return sums, read("", nil)
	}
	return sums, query.Chunks(clusterIDs, func(args []any) error {
		return read("WHERE cluster_id IN ("+query.Placeholders(1, len(args))+")", args)
	})
}
