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

// PutPreview implements preview.Store.
func (t *Table) PutPreview(ctx context.Context, p preview.Preview, dropBefore int64) error {
	if _, err := t.db.Exec(ctx, Drop, dropBefore); err != nil {
		return err
	}
	parts, err := query.List(p.Parts)
	if err != nil {
		return err
	}
	_, err = t.db.Exec(ctx, `INSERT INTO previews (service_id, cluster_id, request, actor, created_at, revision, parts, files_digest, files)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		p.ServiceID, p.ClusterID, p.Request, p.By, p.CreatedAt, p.Revision, parts, p.FilesDigest, base64.StdEncoding.EncodeToString(p.Files))
	return err
}

const previewColumns = `SELECT service_id, cluster_id, request, actor, created_at, revision, parts, files_digest,
	answered, made_at, error, differences FROM previews `

func scanPreview(row query.Scan) (p preview.Preview, err error) {
	var parts, packed string
	var answered int64
	err = row(&p.ServiceID, &p.ClusterID, &p.Request, &p.By, &p.CreatedAt, &p.Revision, &parts, &p.FilesDigest, &answered, &p.MadeAt, &p.Error, &packed)
	if err != nil {
		return p, err
	}
	p.Answered = answered != 0
	if p.Differences, err = base64.StdEncoding.DecodeString(packed); err != nil {
		return p, err
	}
	return p, query.FromList(parts, &p.Parts)
}

// Preview implements preview.Store.
func (t *Table) Preview(ctx context.Context, serviceID string, request int64) (preview.Preview, error) {
	p, found, err := query.One(ctx, t.db, scanPreview, previewColumns+"WHERE service_id = $1 AND request = $2", serviceID, request)
	if err == nil && !found {
		return p, errcode.New(errcode.NotFound, "preview %d of the service does not exist any more; request it again", request)
	}
	return p, err
}

// Open is the statement for an agent's open previews, and Drop the one that
// deletes expired ones.
const (
	Open = previewColumns + "WHERE cluster_id = $1 AND answered = 0 AND created_at >= $2 ORDER BY request"
	Drop = "DELETE FROM previews WHERE created_at < $1"
)

// OpenPreviews implements preview.Store.
func (t *Table) OpenPreviews(ctx context.Context, clusterID string, since int64) ([]preview.Preview, error) {
	return query.All(ctx, t.db, scanPreview, Open, clusterID, since)
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
	_, err := t.db.Exec(ctx, `UPDATE previews SET answered = 1, made_at = $4, error = $5, differences = $6, files = ''
		WHERE cluster_id = $1 AND service_id = $2 AND request = $3`,
		p.ClusterID, p.ServiceID, p.Request, p.MadeAt, p.Error, base64.StdEncoding.EncodeToString(p.Differences))
	return err
}

// PutDiff implements fleet.DiffStore.
func (t *Table) PutDiff(ctx context.Context, d fleet.Diff) error {
	_, err := t.db.Exec(ctx, `INSERT INTO diffs (service_id, request, revision, source_revision, made_at, reported_at, error, differences)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (service_id) DO UPDATE SET request = excluded.request, revision = excluded.revision,
		source_revision = excluded.source_revision, made_at = excluded.made_at, reported_at = excluded.reported_at,
		error = excluded.error, differences = excluded.differences`,
		d.ServiceID, d.Request, d.Revision, d.SourceRevision, d.MadeAt, d.ReportedAt, d.Error, base64.StdEncoding.EncodeToString(d.Differences))
	return err
}

// Diff implements fleet.DiffStore.
func (t *Table) Diff(ctx context.Context, serviceID string) (fleet.Diff, error) {
	d, _, err := query.One(ctx, t.db, func(row query.Scan) (d fleet.Diff, err error) {
		var packed string
		if err = row(&d.ServiceID, &d.Request, &d.Revision, &d.SourceRevision, &d.MadeAt, &d.ReportedAt, &d.Error, &packed); err != nil {
			return d, err
		}
		d.Differences, err = base64.StdEncoding.DecodeString(packed)
		return d, err
	}, "SELECT service_id, request, revision, source_revision, made_at, reported_at, error, differences FROM diffs WHERE service_id = $1", serviceID)
	return d, err
}
