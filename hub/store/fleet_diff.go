package store

import (
	"context"
	"encoding/base64"

	"github.com/axle-cd/axle/hub/fleet"
)

// PutDiff is fleet.DiffStore.
func (s *Store) PutDiff(ctx context.Context, d fleet.Diff) error {
	_, err := s.exec(ctx, `INSERT INTO diffs (service_id, request, revision, source_revision, made_at, reported_at, error, differences)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (service_id) DO UPDATE SET request = excluded.request, revision = excluded.revision,
		source_revision = excluded.source_revision, made_at = excluded.made_at, reported_at = excluded.reported_at,
		error = excluded.error, differences = excluded.differences`,
		d.ServiceID, d.Request, d.Revision, d.SourceRevision, d.MadeAt, d.ReportedAt, d.Error, base64.StdEncoding.EncodeToString(d.Differences))
	return err
}

// Diff is fleet.DiffStore.
func (s *Store) Diff(ctx context.Context, serviceID string) (fleet.Diff, error) {
	d, _, err := rowOf(ctx, s, func(row scan) (d fleet.Diff, err error) {
		var packed string
		if err = row(&d.ServiceID, &d.Request, &d.Revision, &d.SourceRevision, &d.MadeAt, &d.ReportedAt, &d.Error, &packed); err != nil {
			return d, err
		}
		d.Differences, err = base64.StdEncoding.DecodeString(packed)
		return d, err
	}, "SELECT service_id, request, revision, source_revision, made_at, reported_at, error, differences FROM diffs WHERE service_id = $1", serviceID)
	return d, err
}
