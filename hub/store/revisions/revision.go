package revisions

import (
	"cmp"
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
	Revisions = revisionsOf("service_id")
	// Present are the revisions of services s, which may share those of another.
	Present = revisionsOf("s.id")

	selectRevisions = Revisions.Select() + joins
	// insertRevision is given the content's id and the spec's version.
	insertRevision = Revisions.All().Set("content_id", "{1}").Set("spec_version", "{2}").Insert("")
)

const joins = "JOIN contents o ON o.id = r.content_id LEFT JOIN specs d ON d.owner_id = r.service_id AND d.version = r.spec_version "

// OwnerOf is the owner of the specs and revisions of a service s.
const OwnerOf = "CASE WHEN s.owner_id = '' THEN s.id ELSE s.owner_id END"

// ownerOf is the same for the service $1.
const ownerOf = "COALESCE((SELECT NULLIF(s.owner_id, '') FROM services s WHERE s.id = $1), $1)"

// revisionsOf defines the table with an expression for the service.
func revisionsOf(service string) *rows.Table[fleet.StoredRevision] {
	return rows.Of("revisions r", func(c *rows.Columns, r *fleet.StoredRevision) {
		rows.Col(c, service, &r.ServiceID)
		rows.Col(c, "o.repository_id", &r.RepositoryID)
		rows.Col(c, "o.source_revision", &r.SourceRevision)
		rows.Col(c, "o.digest", &r.Digest)
		rows.Col(c, "o.entry", &r.Entry)
		rows.Col(c, "o.size", &r.Size)
		rows.Col(c, "o.message", &r.Message)
		rows.Col(c, "o.author", &r.Author)
		rows.Col(c, "o.committed_at", &r.CommittedAt)
		rows.Col(c, "actor", &r.By)
		rows.JSON(c, "COALESCE(d.spec, '')", &r.Spec)
		rows.Col(c, "COALESCE(d.secrets, '')", &r.Secrets)
		rows.List(c, "o.parts", &r.Parts)
		rows.FieldsBut(c, r, &r.Revision.Current, &r.OwnerID)
	}).Then(madeBy)
}

// madeBy sets who made the revision: for a commit, its author.
func madeBy(r *fleet.StoredRevision) {
	if r.By == "" {
		r.By = r.Author
	}
}

// InsertRevision implements fleet.RevisionStore. It writes to the service's row
// first, so that of two transactions that want the same number the later one is
// retried.
func (t *Table) InsertRevision(ctx context.Context, r fleet.StoredRevision, keep int) (number int64, err error) {
	if _, err := t.db.Exec(ctx, "UPDATE services SET revision = revision WHERE id = $1", r.ServiceID); err != nil {
		return 0, err
	}
	owner := cmp.Or(r.OwnerID, r.ServiceID)
	version, err := t.PutSpec(ctx, owner, r.Spec, r.Secrets)
	if err != nil {
		return 0, err
	}
	content, err := t.putContents(ctx, []fleet.Made{{Content: r.Content, Parts: r.Parts}})
	if err != nil {
		return 0, err
	}
	if r.OwnerID != "" {
		number, known, err := t.shared(ctx, r, version, content[0])
		if err != nil || known {
			return number, err
		}
		r.ServiceID, r.SpecDigest, r.Number = r.OwnerID, "", number
	}
	if _, err := insertRevision.Exec(ctx, t.db, &r, content[0], version); err != nil {
		return 0, err
	}
	return r.Number, t.trim(ctx, owner, keep)
}

// shared returns the revision of a template that has a spec and a content. known
// is set if another service made it after the one that this service had; otherwise
// it is the next number.
func (t *Table) shared(ctx context.Context, r fleet.StoredRevision, version int64, content string) (number int64, known bool, err error) {
	type numbers struct{ last, same int64 }
	found, _, err := query.One(ctx, t.db, func(row query.Scan) (v numbers, err error) {
		err = row(&v.last, &v.same)
		return v, err
	}, `SELECT COALESCE(max(number), 0), COALESCE(max(CASE WHEN spec_version = $2 AND content_id = $3 AND number >= $4 THEN number END), 0)
		FROM revisions WHERE service_id = $1`, r.OwnerID, version, content, r.Number)
	if found.same > 0 {
		return found.same, true, err
	}
	return found.last + 1, false, err
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
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "service %s has no revision %d", serviceID, number), Revisions.Reader(), selectRevisions+"WHERE r.service_id = "+ownerOf+" AND r.number = $2", serviceID, number)
}

// PresentRevisions implements fleet.RevisionStore.
func (t *Table) PresentRevisions(ctx context.Context, serviceIDs []string) (map[string]fleet.StoredRevision, error) {
	present := map[string]fleet.StoredRevision{}
	err := query.Chunks(serviceIDs, func(args []any) error {
		part, err := query.All(ctx, t.db, Present.Reader(), Present.Select()+joins+`JOIN services s ON r.service_id = `+OwnerOf+`
			AND r.number = s.revision WHERE s.id IN (`+query.Placeholders(1, len(args))+")", args...)
		for _, r := range part {
			present[r.ServiceID] = r
		}
		return err
	})
	return present, err
}

// Revisions implements fleet.RevisionStore.
func (t *Table) Revisions(ctx context.Context, serviceID string) ([]fleet.Revision, error) {
	stored, err := query.All(ctx, t.db, Revisions.Reader(), selectRevisions+"WHERE r.service_id = "+ownerOf+" ORDER BY r.number DESC", serviceID)
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
// to any more. Of a template it leaves those that a service has now.
func (t *Table) trim(ctx context.Context, ownerID string, keep int) error {
	_, err := t.db.Exec(ctx, `DELETE FROM revisions WHERE service_id = $1 AND number <=
		(SELECT max(number) FROM revisions WHERE service_id = $1) - $2 AND NOT EXISTS (SELECT 1 FROM services s
			WHERE s.owner_id = $1 AND s.owner_id <> '' AND s.revision = revisions.number)`, ownerID, keep)
	if err != nil {
		return err
	}
	return t.TrimSpecs(ctx, ownerID)
}

// TrimSpecs removes the specs of a service or a template that nothing refers to.
func (t *Table) TrimSpecs(ctx context.Context, ownerID string) error {
	_, err := t.db.Exec(ctx, `DELETE FROM specs WHERE owner_id = $1
		AND version NOT IN (SELECT spec_version FROM revisions WHERE service_id = $1)
		AND version NOT IN (SELECT spec_version FROM services WHERE id = $1)
		AND version NOT IN (SELECT s.spec_version FROM services s WHERE s.owner_id = $1 AND s.owner_id <> '')
		AND version NOT IN (SELECT spec_version FROM global_services WHERE id = $1)
		AND version NOT IN (SELECT held_version FROM global_services WHERE id = $1)`, ownerID)
	return err
}

// Forget removes the revisions and specs of a service or a template.
func (t *Table) Forget(ctx context.Context, ownerID string) error {
	if _, err := t.db.Exec(ctx, "DELETE FROM revisions WHERE service_id = $1", ownerID); err != nil {
		return err
	}
	_, err := t.db.Exec(ctx, "DELETE FROM specs WHERE owner_id = $1", ownerID)
	return err
}
