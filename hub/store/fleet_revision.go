package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

const revisionColumns = `SELECT service_id, number, repository_id, source_revision, digest, entry, size, message, author,
	committed_at, spec_digest, cause, actor, created_at, spec, secrets, parts FROM revisions `

func scanRevision(row scan) (r fleet.StoredRevision, err error) {
	var spec, parts string
	err = row(&r.ServiceID, &r.Number, &r.RepositoryID, &r.SourceRevision, &r.Digest, &r.Entry, &r.Size, &r.Message, &r.Author,
		&r.CommittedAt, &r.SpecDigest, &r.Cause, &r.By, &r.CreatedAt, &spec, &r.Secrets, &parts)
	if err != nil {
		return r, err
	}
	if err := fromJSON(spec, &r.Spec); err != nil {
		return r, err
	}
	return r, listFromText(parts, &r.Parts)
}

// InsertRevision is fleet.Store. It writes to the service's row first, so that
// of two transactions that want the same number the later one is run again.
func (s *Store) InsertRevision(ctx context.Context, r fleet.StoredRevision) error {
	if _, err := s.exec(ctx, "UPDATE services SET revision = revision WHERE id = $1", r.ServiceID); err != nil {
		return err
	}
	spec, err := jsonText(r.Spec)
	if err != nil {
		return err
	}
	parts, err := listText(r.Parts)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, `INSERT INTO revisions (service_id, number, repository_id, source_revision, digest, entry, size,
		message, author, committed_at, spec_digest, cause, actor, created_at, spec, secrets, parts)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		r.ServiceID, r.Number, r.RepositoryID, r.SourceRevision, r.Digest, r.Entry, r.Size, r.Message, r.Author,
		r.CommittedAt, r.SpecDigest, r.Cause, r.By, r.CreatedAt, spec, r.Secrets, parts)
	if err != nil {
		return err
	}
	return s.putRevisionParts(ctx, r.Revision)
}

// Revision is fleet.Store.
func (s *Store) Revision(ctx context.Context, serviceID string, number int64) (fleet.StoredRevision, error) {
	r, found, err := rowOf(ctx, s, scanRevision, revisionColumns+"WHERE service_id = $1 AND number = $2", serviceID, number)
	if err == nil && !found {
		return r, errcode.New(errcode.NotFound, "service %s has no revision %d", serviceID, number)
	}
	return r, err
}

// PresentRevisions is fleet.Store.
func (s *Store) PresentRevisions(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredRevision, error) {
	present := map[string]fleet.StoredRevision{}
	err := chunks(serviceIDs, func(args []any) error {
		part, err := rowsOf(ctx, s, scanRevision, revisionColumns+`r WHERE service_id IN (`+placeholders(1, len(args))+`)
			AND number = (SELECT s.revision FROM services s WHERE s.id = r.service_id)`, args...)
		for _, r := range part {
			present[r.ServiceID] = r
		}
		return err
	})
	return present, err
}

// Revisions is fleet.Store.
func (s *Store) Revisions(ctx context.Context, serviceID string) ([]fleet.Revision, error) {
	stored, err := rowsOf(ctx, s, scanRevision, revisionColumns+"WHERE service_id = $1 ORDER BY number DESC", serviceID)
	if err != nil {
		return nil, err
	}
	revisions := make([]fleet.Revision, len(stored))
	for i, r := range stored {
		revisions[i] = r.Revision
	}
	return revisions, nil
}

// TrimRevisions is fleet.Store. Numbers may have gaps, so it counts rows.
func (s *Store) TrimRevisions(ctx context.Context, serviceID string, keep int, except int64) error {
	_, err := s.exec(ctx, `DELETE FROM revisions WHERE service_id = $1 AND number <> $2 AND number <=
		(SELECT number FROM revisions WHERE service_id = $1 ORDER BY number DESC LIMIT 1 OFFSET $3)`, serviceID, except, keep)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, `DELETE FROM revision_parts WHERE service_id = $1
		AND number NOT IN (SELECT number FROM revisions WHERE service_id = $1)`, serviceID)
	return err
}
