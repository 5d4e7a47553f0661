package store

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
)

// selectOrphans reads the index of orphaned statuses, whose condition is a literal so that both
// databases use it.
const selectOrphans = `SELECT t.service_id, t.cluster_id, c.name, t.reported_at, t.message FROM statuses t JOIN clusters c ON c.id = t.cluster_id
	WHERE t.reason = 'Orphaned' AND NOT EXISTS (SELECT 1 FROM services s WHERE s.id = t.service_id) AND `

// Orphans implements fleet.StatusReader.
func (s *Store) Orphans(ctx context.Context, clusterID string, reach identity.Reach, limit int) (all []fleet.Orphan, err error) {
	statement, args := orphansWithin(clusterID, reach, limit)
	err = s.each(ctx, statement, args, func(row scan) error {
		var o fleet.Orphan
		err := row(&o.ServiceID, &o.ClusterID, &o.Cluster, &o.ReportedAt, &o.Message)
		all = append(all, o)
		return err
	})
	return all, err
}

func orphansWithin(clusterID string, reach identity.Reach, limit int) (statement string, args []any) {
	condition, args := within(reach, "c", "", nil)
	if clusterID != "" {
		args = append(args, clusterID)
		condition += fmt.Sprintf(" AND t.cluster_id = $%d", len(args))
	}
	args = append(args, limit)
	return selectOrphans + condition + fmt.Sprintf(" ORDER BY t.cluster_id, t.service_id LIMIT $%d", len(args)), args
}
