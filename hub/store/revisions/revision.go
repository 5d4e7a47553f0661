package revisions

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
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

// Revisions are the rows of revisions, read with r for the revision, o for its
// content and d for its spec.
var (
	Revisions = rows.Of("revisions r", func(c *rows.Columns, r *fleet.StoredRevision) {
		rows.Col(c, "service_id", &r.ServiceID)
		rows.Col(c, "number", &r.Number)
		rows.Col(c, "o.repository_id", &r.RepositoryID)
		rows.Col(c, "o.source_revision", &r.SourceRevision)
		rows.Col(c, "o.digest", &r.Digest)
		rows.Col(c, "o.entry", &r.Entry)
		rows.Col(c, "o.size", &r.Size)
		rows.Col(c, "o.message", &r.Message)
		rows.Col(c, "o.author", &r.Author)
		rows.Col(c, "o.committed_at", &r.CommittedAt)
		rows.Col(c, "spec_digest", &r.SpecDigest)
		rows.Col(c, "cause", &r.Cause)
		rows.Col(c, "actor", &r.By)
		rows.Col(c, "created_at", &r.CreatedAt)
		rows.JSON(c, "COALESCE(d.spec, '')", &r.Spec)
		rows.Col(c, "COALESCE(d.secrets, '')", &r.Secrets)
		rows.List(c, "o.parts", &r.Parts)
	}).Then(madeBy)
	selectRevisions = Revisions.Select() + "JOIN contents o ON o.id = r.content_id LEFT JOIN specs d ON d.owner_id = r.service_id AND d.version = r.spec_version "
	// insertRevision is given the content's id and the spec's version.
	insertRevision = Revisions.All().Set("content_id", "{1}").Set("spec_version", "{2}").Insert("")
)

// madeBy sets who made the revision: for a commit, its author.
func madeBy(r *fleet.StoredRevision) {
	if r.By == "" {
		r.By = r.Author
	}
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
	_, err = insertRevision.Exec(ctx, t.db, &r, content[0], version)
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
	var list query.Values
	for _, id := range documents {
		list.Add(id, ownerID, version)
	}
	return version, list.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, "INSERT INTO spec_documents (document_id, owner_id, version) VALUES "+list+" ON CONFLICT DO NOTHING", args...)
		return err
	})
}

// Revision implements fleet.RevisionStore.
func (t *Table) Revision(ctx context.Context, serviceID string, number int64) (fleet.StoredRevision, error) {
	r, found, err := query.One(ctx, t.db, Revisions.Reader(), selectRevisions+"WHERE r.service_id = $1 AND r.number = $2", serviceID, number)
	if err == nil && !found {
		return r, errcode.New(errcode.NotFound, "service %s has no revision %d", serviceID, number)
	}
	return r, err
}

// PresentRevisions implements fleet.RevisionStore.
func (t *Table) PresentRevisions(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredRevision, error) {
	present := map[string]fleet.StoredRevision{}
	err := query.Chunks(serviceIDs, func(args []any) error {
		part, err := query.All(ctx, t.db, Revisions.Reader(), selectRevisions+`WHERE r.service_id IN (`+query.Placeholders(1, len(args))+`)
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
	stored, err := query.All(ctx, t.db, Revisions.Reader(), selectRevisions+"WHERE r.service_id = $1 ORDER BY r.number DESC", serviceID)
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
