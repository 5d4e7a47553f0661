package store

import (
	"context"
	"encoding/base64"

	"github.com/axle-cd/axle/hub/fleet"
)

// PutStatus is fleet.Store.
func (s *Store) PutStatus(ctx context.Context, t fleet.StoredStatus) error {
	problems, err := jsonText(t.Errors)
	if err != nil {
		return err
	}
	counts, err := jsonText(t.Counts)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, `INSERT INTO statuses (service_id, cluster_id, hash, reported_at, sync, reason, health, message,
		errors, tarball_digest, spec_digest, revision, source_revision, applied_at, counts, components)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
		ON CONFLICT (service_id) DO UPDATE SET cluster_id = excluded.cluster_id, hash = excluded.hash,
		reported_at = excluded.reported_at, sync = excluded.sync, reason = excluded.reason, health = excluded.health,
		message = excluded.message, errors = excluded.errors, tarball_digest = excluded.tarball_digest,
		spec_digest = excluded.spec_digest, revision = excluded.revision, source_revision = excluded.source_revision,
		applied_at = excluded.applied_at, counts = excluded.counts, components = excluded.components`,
		t.ServiceID, t.ClusterID, t.Hash, t.ReportedAt, t.Sync, t.Reason, t.Health, t.Message, problems, t.TarballDigest,
		t.SpecDigest, t.Revision, t.SourceRevision, t.AppliedAt, counts, base64.StdEncoding.EncodeToString(t.Components))
	return err
}

// DeleteStatuses is fleet.Store.
func (s *Store) DeleteStatuses(ctx context.Context, serviceIDs []string) error {
	return chunks(serviceIDs, func(args []any) error {
		_, err := s.exec(ctx, "DELETE FROM statuses WHERE service_id IN ("+placeholders(1, len(args))+")", args...)
		return err
	})
}

func scanStatus(row scan) (t fleet.StoredStatus, err error) {
	var problems, counts string
	err = row(&t.ServiceID, &t.ClusterID, &t.Hash, &t.ReportedAt, &t.Sync, &t.Reason, &t.Health, &t.Message, &problems,
		&t.TarballDigest, &t.SpecDigest, &t.Revision, &t.SourceRevision, &t.AppliedAt, &counts)
	if err != nil {
		return t, err
	}
	if err := fromJSON(problems, &t.Errors); err != nil {
		return t, err
	}
	return t, fromJSON(counts, &t.Counts)
}

// StatusesByID is fleet.Store.
func (s *Store) StatusesByID(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredStatus, error) {
	all := map[string]fleet.StoredStatus{}
	err := chunks(serviceIDs, func(args []any) error {
		part, err := rowsOf(ctx, s, scanStatus, `SELECT service_id, cluster_id, hash, reported_at, sync, reason, health, message,
			errors, tarball_digest, spec_digest, revision, source_revision, applied_at, counts
			FROM statuses WHERE service_id IN (`+placeholders(1, len(args))+")", args...)
		for _, t := range part {
			all[t.ServiceID] = t
		}
		return err
	})
	return all, err
}

// Components is fleet.Store.
func (s *Store) Components(ctx context.Context, serviceID string) ([]byte, error) {
	text, _, err := rowOf(ctx, s, value[string], "SELECT components FROM statuses WHERE service_id = $1", serviceID)
	if err != nil || text == "" {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// StatusHashes is fleet.Store.
func (s *Store) StatusHashes(ctx context.Context, clusterID string) (map[string]string, error) {
	hashes := map[string]string{}
	err := s.each(ctx, "SELECT service_id, hash FROM statuses WHERE cluster_id = $1", []any{clusterID}, func(row scan) error {
		var id, hash string
		if err := row(&id, &hash); err != nil {
			return err
		}
		hashes[id] = hash
		return nil
	})
	return hashes, err
}

// EachStatusHash is fleet.Store.
func (s *Store) EachStatusHash(ctx context.Context, fn func(clusterID, serviceID, hash string) error) error {
	return s.each(ctx, "SELECT cluster_id, service_id, hash FROM statuses ORDER BY cluster_id", nil, func(row scan) error {
		var cluster, service, hash string
		if err := row(&cluster, &service, &hash); err != nil {
			return err
		}
		return fn(cluster, service, hash)
	})
}
