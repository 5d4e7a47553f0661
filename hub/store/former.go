package store

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
)

// formerKept is how many ended registrations of one cluster are reported.
const formerKept = 20

// endRegistration records that a cluster's registration ended, and announces it
// to other registrations of the same cluster.
func endRegistration(ctx context.Context, s *Store, clusterID string) error {
	_, err := s.exec(ctx, `INSERT INTO former_clusters (cluster_id, cluster_uid, ended_at)
		SELECT id, cluster_uid, {now} FROM clusters WHERE id = $1 AND cluster_uid <> '' ON CONFLICT (cluster_id) DO NOTHING`, clusterID)
	if err != nil {
		return err
	}
	others, err := rowsOf(ctx, s, value[string], `SELECT o.id FROM clusters c JOIN clusters o ON o.cluster_uid = c.cluster_uid AND o.id <> c.id
		WHERE c.id = $1 AND c.cluster_uid <> ''`, clusterID)
	for _, id := range others {
		if err := event.Append(ctx, event.Change{Kind: event.KindCluster, Key: id, Cluster: id}); err != nil {
			return err
		}
	}
	return err
}

const (
	formerQuery = `SELECT c.id, f.cluster_id FROM clusters c JOIN former_clusters f ON f.cluster_uid = c.cluster_uid
		WHERE NOT EXISTS (SELECT 1 FROM clusters x WHERE x.id = f.cluster_id) `
	formerOfOne = "AND c.id = $1 "
)

// Former implements desired.Learnt. A registration that a restore brought back
// has not ended.
func (l Learnt) Former(ctx context.Context, clusterID string) (map[string][]string, error) {
	former := map[string][]string{}
	query, args := formerQuery, []any(nil)
	if clusterID != "" {
		query, args = query+formerOfOne, []any{clusterID}
	}
	return former, l.Store.each(ctx, query+"ORDER BY f.ended_at DESC, f.cluster_id", args, func(row scan) error {
		var now, before string
		err := row(&now, &before)
		if len(former[now]) < formerKept {
			former[now] = append(former[now], before)
		}
		return err
	})
}
