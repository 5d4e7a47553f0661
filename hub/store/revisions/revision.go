package revisions

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// Table holds the history of all services. Its methods are safe for concurrent
// use.
type Table struct {
	db    query.DB
	clock clock.Clock
}

// New returns the history in a database.
func New(db query.DB, c clock.Clock) *Table { return &Table{db, c} }

// columns are read with r for the revision, o for its content and d for its
// spec. For a commit, its author is who made the revision.
const columns = `SELECT r.service_id, r.number, o.repository_id, o.source_revision, o.digest, o.entry, o.size, o.message, o.author,
	o.committed_at, r.spec_digest, r.cause, r.actor, r.created_at, COALESCE(d.spec, ''), COALESCE(d.secrets, ''), o.parts
	FROM revisions r JOIN contents o ON o.id = r.content_id LEFT JOIN specs d ON d.owner_id = r.service_id AND d.version = r.spec_version `

func scan(row query.Scan) (r fleet.StoredRevision, err error) {
	var spec, parts string
	err = row(&r.ServiceID, &r.Number, &r.RepositoryID, &r.SourceRevision, &r.Digest, &r.Entry, &r.Size, &r.Message, &r.Author,
		&r.CommittedAt, &r.SpecDigest, &r.Cause, &r.By, &r.CreatedAt, &spec, &r.Secrets, &parts)
	if err != nil {
		return r, err
	}
	if r.By == "" {
		r.By = r.Author
	}
	if err := query.FromJSON(spec, &r.Spec); err != nil {
		return r, err
	}
	return r, query.FromList(parts, &r.Parts)
}

// InsertRevision implements fleet.RevisionStore. It writes to the service's row
// first, so that of two transactions that want the same number the later one is
// retried.
func (t *Table) InsertRevision(ctx context.Context, r fleet.StoredRevision, keep int) error {
	if _, err := t.db.Exec(ctx, "UPDATE services SET revision = revision WHERE id = $1", r.ServiceID); err != nil {
		return err
	}
	version, err := t.PutSpec(ctx, r.ServiceID, r.Spec, r.Secrets)
	if err != nil {
		return err
	}
	content, err := t.putContents(ctx, []fleet.Made{{Content: r.Content, Parts: r.Parts}})
	if err != nil {
		return err
	}
	_, err = t.db.Exec(ctx, `INSERT INTO revisions (service_id, number, content_id, spec_version, spec_digest, cause, actor, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		r.ServiceID, r.Number, content[0], version, r.SpecDigest, r.Cause, r.By, r.CreatedAt)
	if err != nil {
		return err
	}
	return t.trim(ctx, r.ServiceID, keep)
}

// PutSpec stores an owner's declaration, with the names of its documents, and
// returns its version: the version that already has it, otherwise a new one.
func (t *Table) PutSpec(ctx context.Context, ownerID string, spec fleet.Spec, secrets string) (int64, error) {
	text, err := query.JSON(spec)
	if err != nil {
		return 0, err
	}
	type versions struct{ last, same int64 }
	found, _, err := query.One(ctx, t.db, func(row query.Scan) (v versions, err error) {
		err = row(&v.last, &v.same)
		return v, err
	}, `SELECT COALESCE(max(version), 0), COALESCE(max(CASE WHEN spec = $2 AND secrets = $3 THEN version END), 0)
		FROM specs WHERE owner_id = $1`, ownerID, text, secrets)
	if err != nil || found.same > 0 {
		return found.same, err
	}
	version := found.last + 1
	_, err = t.db.Exec(ctx, "INSERT INTO specs (owner_id, version, spec, secrets) VALUES ($1, $2, $3, $4)", ownerID, version, text, secrets)
	if err != nil {
		return 0, err
	}
	documents, err := fleet.Documents(secrets)
	if err != nil {
		return 0, err
	}
	var rows query.Values
	for _, id := range documents {
		rows.Add(id, ownerID, version)
	}
	return version, rows.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, "INSERT INTO spec_documents (document_id, owner_id, version) VALUES "+list+" ON CONFLICT DO NOTHING", args...)
		return err
	})
}

// Revision implements fleet.RevisionStore.
func (t *Table) Revision(ctx context.Context, serviceID string, number int64) (fleet.StoredRevision, error) {
	r, found, err := query.One(ctx, t.db, scan, columns+"WHERE r.service_id = $1 AND r.number = $2", serviceID, number)
	if err == nil && !found {
		return r, errcode.New(errcode.NotFound, "service %s has no revision %d", serviceID, number)
	}
	return r, err
}

// PresentRevisions implements fleet.RevisionStore.
func (t *Table) PresentRevisions(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredRevision, error) {
	present := map[string]fleet.StoredRevision{}
	err := query.Chunks(serviceIDs, func(args []any) error {
		part, err := query.All(ctx, t.db, scan, columns+`WHERE r.service_id IN (`+query.Placeholders(1, len(args))+`)
			AND r.number = (SELECT s.revision FROM services s WHERE s.id = r.service_id)`, args...)
		for _, r := range part {
			present[r.ServiceID] = r
		}
		return err
	})
	return present, err
}

// Revisions implements fleet.RevisionStore.
func (t *Table) Revisions(ctx context.Context, serviceID string) ([]fleet.Revision, error) {
	stored, err := query.All(ctx, t.db, scan, columns+"WHERE r.service_id = $1 ORDER BY r.number DESC", serviceID)
	if err != nil {
		return nil, err
	}
	revisions := make([]fleet.Revision, len(stored))
	for i, r := range stored {
		revisions[i] = r.Revision
	}
	return revisions, nil
}

// trim removes all but the newest revisions, and the specs that nothing refers
// to any more.
func (t *Table) trim(ctx context.Context, serviceID string, keep int) error {
	_, err := t.db.Exec(ctx, `DELETE FROM revisions WHERE service_id = $1 AND number <=
		(SELECT max(number) FROM revisions WHERE service_id = $1) - $2`, serviceID, keep)
	if err != nil {
		return err
	}
	_, err = t.db.Exec(ctx, `DELETE FROM specs WHERE owner_id = $1
		AND version NOT IN (SELECT spec_version FROM revisions WHERE service_id = $1)
		AND version NOT IN (SELECT spec_version FROM services WHERE id = $1)`, serviceID)
	return err
}

// Forget removes the history of a deleted service.
func (t *Table) Forget(ctx context.Context, serviceID string) error {
	if _, err := t.db.Exec(ctx, "DELETE FROM revisions WHERE service_id = $1", serviceID); err != nil {
		return err
	}
	_, err := t.db.Exec(ctx, "DELETE FROM specs WHERE owner_id = $1", serviceID)
	return err
}
