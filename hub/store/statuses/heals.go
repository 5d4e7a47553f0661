package statuses

import (
	"context"

	"github.com/axle-cd/axle/hub/store/query"
)

// HealsTaken implements fleet.HealStore.
func (t *Table) HealsTaken(ctx context.Context, clusterID, bootID string) (int64, error) {
	number, _, err := query.One(ctx, t.db, query.Value[int64], "SELECT number FROM heals_taken WHERE cluster_id = $1 AND boot_id = $2", clusterID, bootID)
	return number, err
}

// SetHealsTaken implements fleet.HealStore.
func (t *Table) SetHealsTaken(ctx context.Context, clusterID, bootID string, number int64) error {
	_, err := t.db.Exec(ctx, `INSERT INTO heals_taken (cluster_id, boot_id, number) VALUES ($1, $2, $3)
		ON CONFLICT (cluster_id) DO UPDATE SET boot_id = excluded.boot_id, number = excluded.number`, clusterID, bootID, number)
	return err
}
