// Package previews stores in the hub's database what agents compared: the last
// diff of each service, and previews that people asked for, for an hour.
// hub/store embeds its Table; hub/fleet and hub/preview decide what to store.
package previews

import (
	"context"
	"encoding/base64"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/preview"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	_ preview.Store   = (*Table)(nil)
	_ fleet.DiffStore = (*Table)(nil)
)

// Table holds all previews. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the previews in a database.
func New(db query.DB) *Table { return &Table{db} }

// Previews and Diffs are the rows.
var (
	Previews = rows.Of("previews", func(c *rows.Columns, p *preview.Preview) {
		rows.Col(c, "actor", &p.By)
		rows.List(c, "parts", &p.Parts)
		rows.Base64(c, "files", &p.Files)
		rows.Base64(c, "differences", &p.Differences)
		rows.Fields(c, p)
	}).Unread("files")
	selectPreviews = Previews.Select()
	insertPreview  = Previews.Except("answered", "made_at", "error", "differences").Insert("")
	answerPreview  = Previews.Only("cluster_id", "service_id", "request", "made_at", "error", "differences").
			Set("answered", "1").Set("files", "''").Update("cluster_id", "service_id", "request")

	Diffs = rows.Of("diffs", func(c *rows.Columns, d *fleet.Diff) {
		rows.Base64(c, "differences", &d.Differences)
		rows.Fields(c, d)
	})
	selectDiffs = Diffs.Select()
	putDiff     = Diffs.All().Upsert("service_id")
)

// PutPreview implements preview.Store.
func (t *Table) PutPreview(ctx context.Context, p preview.Preview, dropBefore int64) error {
	if _, err := t.db.Exec(ctx, Drop, dropBefore); err != nil {
		return err
	}
	_, err := insertPreview.Exec(ctx, t.db, &p)
	return err
}

// Preview implements preview.Store.
func (t *Table) Preview(ctx context.Context, serviceID string, request int64) (preview.Preview, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "preview %d of the service does not exist any more; request it again", request), Previews.Reader(), selectPreviews+"WHERE service_id = $1 AND request = $2", serviceID, request)
}

// Open is the statement for an agent's open previews, and Drop the one that
// deletes expired ones.
var (
	Open = selectPreviews + "WHERE cluster_id = $1 AND answered = 0 AND created_at >= $2 ORDER BY request"
	Drop = "DELETE FROM previews WHERE created_at < $1"
)

// OpenPreviews implements preview.Store.
func (t *Table) OpenPreviews(ctx context.Context, clusterID string, since int64) ([]preview.Preview, error) {
	return query.All(ctx, t.db, Previews.Reader(), Open, clusterID, since)
}

// On is the statement for the services of a project with open previews on a cluster.
const On = `SELECT DISTINCT p.service_id FROM previews p JOIN services s ON s.id = p.service_id
	WHERE p.cluster_id = $1 AND p.answered = 0 AND p.created_at >= $2 AND s.project_id = $3`

// PreviewedOn implements preview.Store.
func (t *Table) PreviewedOn(ctx context.Context, clusterID, projectID string, since int64) ([]string, error) {
	return query.All(ctx, t.db, query.Value[string], On, clusterID, since, projectID)
}

// OpenPreviewsOf implements preview.Store.
func (t *Table) OpenPreviewsOf(ctx context.Context, projectID string, since int64) (int, error) {
	n, _, err := query.One(ctx, t.db, query.Value[int], `SELECT count(*) FROM previews p JOIN services s ON s.id = p.service_id
		WHERE s.project_id = $1 AND p.answered = 0 AND p.created_at >= $2`, projectID, since)
	return n, err
}

// PreviewFiles implements preview.Store.
func (t *Table) PreviewFiles(ctx context.Context, clusterID, digest string) ([]byte, error) {
	text, found, err := query.One(ctx, t.db, query.Value[string], "SELECT files FROM previews WHERE cluster_id = $1 AND answered = 0 AND files_digest = $2 LIMIT 1", clusterID, digest)
	if err == nil && !found {
		return nil, errcode.New(errcode.NotFound, "the files of this preview do not exist any more")
	}
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(text)
}

// AnswerPreview implements preview.Store. It deletes the files, which are no
// longer needed.
func (t *Table) AnswerPreview(ctx context.Context, p preview.Preview) error {
	_, err := answerPreview.Exec(ctx, t.db, &p)
	return err
}

// PutDiff implements fleet.DiffStore.
func (t *Table) PutDiff(ctx context.Context, d fleet.Diff) error {
	_, err := putDiff.Exec(ctx, t.db, &d)
	return err
}

// Diff implements fleet.DiffStore.
func (t *Table) Diff(ctx context.Context, serviceID string) (fleet.Diff, error) {
	d, _, err := query.One(ctx, t.db, Diffs.Reader(), selectDiffs+"WHERE service_id = $1", serviceID)
	return d, err
}
