package store

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ config.Store = (*Store)(nil)

const selectDocument = `SELECT id, backend, parts, shared, ready, copied_to, copied_parts, stale_in, stale_parts, created_at
	FROM config_documents `

func scanDocument(row scan) (d config.Document, err error) {
	err = row(&d.ID, &d.Backend, &d.Parts, &d.Shared, &d.Ready, &d.CopiedTo, &d.CopiedParts, &d.StaleIn, &d.StaleParts, &d.CreatedAt)
	return d, err
}

// InsertDocument implements config.Store.
func (s *Store) InsertDocument(ctx context.Context, d config.Document) error {
	_, err := s.exec(ctx, `INSERT INTO config_documents (id, backend, parts, shared, ready, copied_to, copied_parts, stale_in, stale_parts, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, d.ID, d.Backend, d.Parts, d.Shared, d.Ready, d.CopiedTo, d.CopiedParts, d.StaleIn, d.StaleParts, d.CreatedAt)
	return err
}

// UpdateDocument implements config.Store.
func (s *Store) UpdateDocument(ctx context.Context, d config.Document) error {
	changed, err := s.execOne(ctx, `UPDATE config_documents SET backend = $2, parts = $3, shared = $4, ready = $5, copied_to = $6,
		copied_parts = $7, stale_in = $8, stale_parts = $9 WHERE id = $1`,
		d.ID, d.Backend, d.Parts, d.Shared, d.Ready, d.CopiedTo, d.CopiedParts, d.StaleIn, d.StaleParts)
	if err == nil && !changed {
		err = errcode.New(errcode.NotFound, "document %s does not exist", d.ID)
	}
	return err
}

// DeleteDocument implements config.Store.
func (s *Store) DeleteDocument(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "DELETE FROM config_documents WHERE id = $1", id)
	return err
}

// DocumentsByID implements config.Store.
func (s *Store) DocumentsByID(ctx context.Context, ids []string) (all []config.Document, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, scanDocument, selectDocument+"WHERE id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// DocumentsIn implements config.Store.
func (s *Store) DocumentsIn(ctx context.Context, backend string, stale bool, after string, limit int) ([]config.Document, error) {
	column := "backend"
	if stale {
		column = "stale_in"
	}
	return rowsOf(ctx, s, scanDocument, selectDocument+"WHERE "+column+" = $1 AND id > $2 ORDER BY id LIMIT $3", backend, after, limit)
}

// CountDocuments implements config.Store.
func (s *Store) CountDocuments(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.each(ctx, "SELECT backend, COUNT(*) FROM config_documents GROUP BY backend", nil, func(row scan) error {
		var name string
		var n int64
		if err := row(&name, &n); err != nil {
			return err
		}
		counts[name] = n
		return nil
	})
	return counts, err
}

// UnusedDocuments implements config.Store.
func (s *Store) UnusedDocuments(ctx context.Context, after string, before int64, limit int) (unused []config.Document, last string, err error) {
	ids, err := rowsOf(ctx, s, value[string], "SELECT id FROM config_documents WHERE id > $1 ORDER BY id LIMIT $2", after, limit)
	if err != nil || len(ids) == 0 {
		return nil, "", err
	}
	end := ids[len(ids)-1]
	if len(ids) == limit {
		last = end
	}
	unused, err = rowsOf(ctx, s, scanDocument, selectDocument+`d WHERE d.id > $1 AND d.id <= $2 AND d.created_at < $3
		AND NOT EXISTS (SELECT 1 FROM spec_documents u WHERE u.document_id = d.id)
		AND (d.shared = 0 OR NOT EXISTS (SELECT 1 FROM bags WHERE document = d.id)) ORDER BY d.id`, after, end, before)
	return unused, last, err
}

// PutValue implements config.Store.
func (s *Store) PutValue(ctx context.Context, path, sealed string) error {
	_, err := s.exec(ctx, `INSERT INTO config_values (path, body) VALUES ($1, $2)
		ON CONFLICT (path) DO UPDATE SET body = excluded.body`, path, sealed)
	return err
}

// valuesOf reads paths with their bodies.
func (s *Store) valuesOf(ctx context.Context, into map[string]string, query string, args ...any) error {
	return s.each(ctx, query, args, func(row scan) error {
		var path, body string
		if err := row(&path, &body); err != nil {
			return err
		}
		into[path] = body
		return nil
	})
}

// Values implements config.Store.
func (s *Store) Values(ctx context.Context, paths []string) (map[string]string, error) {
	all := map[string]string{}
	err := chunks(paths, func(args []any) error {
		return s.valuesOf(ctx, all, "SELECT path, body FROM config_values WHERE path IN ("+placeholders(1, len(args))+")", args...)
	})
	return all, err
}

// DeleteValue implements config.Store.
func (s *Store) DeleteValue(ctx context.Context, path string) error {
	_, err := s.exec(ctx, "DELETE FROM config_values WHERE path = $1", path)
	return err
}

// ValuesNotUnder implements config.Store.
func (s *Store) ValuesNotUnder(ctx context.Context, prefix, after string, limit int) (map[string]string, error) {
	all := map[string]string{}
	err := s.valuesOf(ctx, all, `SELECT path, body FROM config_values WHERE path > $1 AND substr(body, 1, $2) <> $3
		ORDER BY path LIMIT $4`, after, len(prefix), prefix, limit)
	return all, err
}

const selectBag = `SELECT b.kind, b.name, b.project_id, COALESCE(p.name, ''), b.document, b.version, b.updated_at, b.updated_by
	FROM bags b LEFT JOIN projects p ON p.id = b.project_id `

func scanBag(row scan) (b config.BagRow, err error) {
	err = row(&b.Kind, &b.Name, &b.ProjectID, &b.Project, &b.Document, &b.Version, &b.UpdatedAt, &b.UpdatedBy)
	return b, err
}

// PutBag implements config.Store.
func (s *Store) PutBag(ctx context.Context, b config.BagRow) error {
	_, err := s.exec(ctx, `INSERT INTO bags (kind, name, project_id, document, version, updated_at, updated_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, name) DO UPDATE SET project_id = excluded.project_id,
		document = excluded.document, version = excluded.version, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
		b.Kind, b.Name, b.ProjectID, b.Document, b.Version, b.UpdatedAt, b.UpdatedBy)
	return err
}

// BagByName implements config.Store.
func (s *Store) BagByName(ctx context.Context, kind, name string) (config.BagRow, error) {
	b, found, err := rowOf(ctx, s, scanBag, selectBag+"WHERE b.kind = $1 AND b.name = $2", kind, name)
	if err == nil && !found {
		err = config.NoBag(kind, name)
	}
	return b, err
}

// Bags implements config.Store.
func (s *Store) Bags(ctx context.Context, kind string) ([]config.BagRow, error) {
	return rowsOf(ctx, s, scanBag, selectBag+"WHERE b.kind = $1 ORDER BY b.name", kind)
}

// UntoldBags implements config.TellStore.
func (s *Store) UntoldBags(ctx context.Context) ([]config.BagRow, error) {
	return rowsOf(ctx, s, scanBag, selectBag+"WHERE b.told <> b.version ORDER BY b.kind, b.name")
}

// ToldBag implements config.TellStore.
func (s *Store) ToldBag(ctx context.Context, kind, name string, version int64) error {
	_, err := s.exec(ctx, "UPDATE bags SET told = $3 WHERE kind = $1 AND name = $2", kind, name, version)
	return err
}

// DeleteBag implements config.Store.
func (s *Store) DeleteBag(ctx context.Context, kind, name string) error {
	_, err := s.exec(ctx, "DELETE FROM bags WHERE kind = $1 AND name = $2", kind, name)
	return err
}

// PutUses implements config.Store.
func (s *Store) PutUses(ctx context.Context, serviceID string, uses []fleet.Use) error {
	if _, err := s.exec(ctx, "DELETE FROM config_uses WHERE service_id = $1", serviceID); err != nil {
		return err
	}
	for _, u := range uses {
		if _, err := s.exec(ctx, "INSERT INTO config_uses (service_id, kind, name) VALUES ($1, $2, $3)", serviceID, u.Kind, u.Name); err != nil {
			return fmt.Errorf("note a use: %w", err)
		}
	}
	return nil
}

// UsedBy implements config.Store.
func (s *Store) UsedBy(ctx context.Context, use fleet.Use) ([]string, error) {
	return rowsOf(ctx, s, value[string], "SELECT service_id FROM config_uses WHERE kind = $1 AND name = $2 ORDER BY service_id", use.Kind, use.Name)
}

// UsedNames implements config.Store.
func (s *Store) UsedNames(ctx context.Context, kind string) ([]string, error) {
	// One index look-up for each name, however many services use it.
	return rowsOf(ctx, s, value[string], `WITH RECURSIVE used(name) AS (SELECT min(name) FROM config_uses WHERE kind = $1
		UNION ALL SELECT (SELECT min(u.name) FROM config_uses u WHERE u.kind = $1 AND u.name > used.name) FROM used WHERE used.name IS NOT NULL)
		SELECT name FROM used WHERE name IS NOT NULL`, kind)
}
