// Package configuration stores configuration values, and where the documents of
// secrets are, in the hub's database. hub/store embeds its Table; hub/config
// decides what is in them, and seals it.
package configuration

import (
	"context"
	"fmt"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

// Table holds all of it. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the configuration in a database.
func New(db query.DB) *Table { return &Table{db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{documentTable: selectDocuments, valueSetTable: selectValueSets}

var (
	documentTable   = rows.Of("config_documents", rows.Fields[config.Document])
	selectDocuments = documentTable.Select()
	insertDocument  = documentTable.All().Insert("")
	updateDocument  = documentTable.Except("created_at").Update("id")

	valueSetTable = rows.Of("bags b", func(c *rows.Columns, b *config.ValueSetRow) {
		rows.Col(c, "COALESCE(p.name, '')", &b.Project)
		rows.FieldsBut(c, b, &b.Services)
	})
	selectValueSets = valueSetTable.Select() + "LEFT JOIN projects p ON p.id = b.project_id "
	putValueSet     = valueSetTable.All().Upsert("kind", "name")
)

// InsertDocument implements config.DocumentStore.
func (s *Table) InsertDocument(ctx context.Context, d config.Document) error {
	_, err := insertDocument.ExecOne(ctx, s.db, &d)
	return err
}

// UpdateDocument implements config.DocumentStore.
func (s *Table) UpdateDocument(ctx context.Context, d config.Document) error {
	return updateDocument.ExecElse(ctx, s.db, errcode.New(errcode.NotFound, "document %s does not exist", d.ID), &d)
}

// DeleteDocument implements config.DocumentStore.
func (s *Table) DeleteDocument(ctx context.Context, id string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM config_documents WHERE id = $1", id)
	return err
}

// DocumentsByID implements config.DocumentStore.
func (s *Table) DocumentsByID(ctx context.Context, ids []string) (all []config.Document, err error) {
	err = query.Chunks(ids, func(args []any) error {
		part, err := query.All(ctx, s.db, documentTable.Reader(), selectDocuments+"WHERE id IN ("+query.Placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// DocumentsIn implements config.DocumentInventory.
func (s *Table) DocumentsIn(ctx context.Context, backend string, stale bool, after string, limit int) ([]config.Document, error) {
	column := "backend"
	if stale {
		column = "stale_in"
	}
	return query.All(ctx, s.db, documentTable.Reader(), selectDocuments+"WHERE "+column+" = $1 AND id > $2 ORDER BY id LIMIT $3", backend, after, limit)
}

// CountDocuments implements config.DocumentInventory.
func (s *Table) CountDocuments(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.db.Each(ctx, "SELECT backend, COUNT(*) FROM config_documents GROUP BY backend", nil, func(row query.Scan) error {
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

// UnusedDocuments implements config.DocumentInventory.
func (s *Table) UnusedDocuments(ctx context.Context, after string, before int64, limit int) (unused []config.Document, last string, err error) {
	ids, err := query.All(ctx, s.db, query.Value[string], "SELECT id FROM config_documents WHERE id > $1 ORDER BY id LIMIT $2", after, limit)
	if err != nil || len(ids) == 0 {
		return nil, "", err
	}
	end := ids[len(ids)-1]
	if len(ids) == limit {
		last = end
	}
	unused, err = query.All(ctx, s.db, documentTable.Reader(), selectDocuments+`d WHERE d.id > $1 AND d.id <= $2 AND d.created_at < $3
		AND NOT EXISTS (SELECT 1 FROM spec_documents u WHERE u.document_id = d.id)
		AND (d.shared = 0 OR NOT EXISTS (SELECT 1 FROM bags WHERE document = d.id)) ORDER BY d.id`, after, end, before)
	return unused, last, err
}

// PutValue implements config.ValueStore.
func (s *Table) PutValue(ctx context.Context, path, sealed string) error {
	_, err := s.db.Exec(ctx, `INSERT INTO config_values (path, body) VALUES ($1, $2)
		ON CONFLICT (path) DO UPDATE SET body = excluded.body`, path, sealed)
	return err
}

// valuesOf reads paths with their bodies.
func (s *Table) valuesOf(ctx context.Context, into map[string]string, statement string, args ...any) error {
	return s.db.Each(ctx, statement, args, func(row query.Scan) error {
		var path, body string
		if err := row(&path, &body); err != nil {
			return err
		}
		into[path] = body
		return nil
	})
}

// Values implements config.ValueStore.
func (s *Table) Values(ctx context.Context, paths []string) (map[string]string, error) {
	all := map[string]string{}
	err := query.Chunks(paths, func(args []any) error {
		return s.valuesOf(ctx, all, "SELECT path, body FROM config_values WHERE path IN ("+query.Placeholders(1, len(args))+")", args...)
	})
	return all, err
}

// DeleteValue implements config.ValueStore.
func (s *Table) DeleteValue(ctx context.Context, path string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM config_values WHERE path = $1", path)
	return err
}

// ValuesNotUnder implements config.ValueStore.
func (s *Table) ValuesNotUnder(ctx context.Context, prefix, after string, limit int) (map[string]string, error) {
	all := map[string]string{}
	err := s.valuesOf(ctx, all, `SELECT path, body FROM config_values WHERE path > $1 AND substr(body, 1, $2) <> $3
		ORDER BY path LIMIT $4`, after, len(prefix), prefix, limit)
	return all, err
}

// PutValueSet implements config.ValueSetStore.
func (s *Table) PutValueSet(ctx context.Context, b config.ValueSetRow) error {
	_, err := putValueSet.ExecOne(ctx, s.db, &b)
	return err
}

// ValueSetByName implements config.ValueSetStore.
func (s *Table) ValueSetByName(ctx context.Context, kind, name string) (config.ValueSetRow, error) {
	return query.Need(ctx, s.db, config.NoValueSet(kind, name), valueSetTable.Reader(), selectValueSets+"WHERE b.kind = $1 AND b.name = $2", kind, name)
}

// ValueSets implements config.ValueSetStore.
func (s *Table) ValueSets(ctx context.Context, kind string) ([]config.ValueSetRow, error) {
	return query.All(ctx, s.db, valueSetTable.Reader(), selectValueSets+"WHERE b.kind = $1 ORDER BY b.name", kind)
}

// UntoldValueSets implements config.TellStore.
func (s *Table) UntoldValueSets(ctx context.Context) ([]config.ValueSetRow, error) {
	return query.All(ctx, s.db, valueSetTable.Reader(), selectValueSets+"WHERE b.told <> b.version ORDER BY b.kind, b.name")
}

// ToldValueSet implements config.TellStore.
func (s *Table) ToldValueSet(ctx context.Context, kind, name string, version int64) error {
	_, err := s.db.Exec(ctx, "UPDATE bags SET told = $3 WHERE kind = $1 AND name = $2", kind, name, version)
	return err
}

// DeleteValueSet implements config.ValueSetStore.
func (s *Table) DeleteValueSet(ctx context.Context, kind, name string) error {
	_, err := s.db.Exec(ctx, "DELETE FROM bags WHERE kind = $1 AND name = $2", kind, name)
	return err
}

// PutUses implements config.UseStore.
func (s *Table) PutUses(ctx context.Context, serviceID string, uses []fleet.Use) error {
	if _, err := s.db.Exec(ctx, "DELETE FROM config_uses WHERE service_id = $1", serviceID); err != nil {
		return err
	}
	for _, u := range uses {
		if _, err := s.db.Exec(ctx, "INSERT INTO config_uses (service_id, kind, name) VALUES ($1, $2, $3)", serviceID, u.Kind, u.Name); err != nil {
			return fmt.Errorf("note a use: %w", err)
		}
	}
	return nil
}

// UsedBy implements config.UseStore.
func (s *Table) UsedBy(ctx context.Context, use fleet.Use, projectID string) ([]string, error) {
	return query.All(ctx, s.db, query.Value[string], `SELECT u.service_id FROM config_uses u LEFT JOIN services s ON s.id = u.service_id
		LEFT JOIN global_services g ON g.id = u.service_id WHERE u.kind = $1 AND u.name = $2
		AND (CAST($3 AS TEXT) = '' OR COALESCE(s.project_id, g.project_id) = $3) ORDER BY u.service_id`, use.Kind, use.Name, projectID)
}

// UsedNames implements config.UseStore.
func (s *Table) UsedNames(ctx context.Context, kind string) ([]string, error) {
	// One index look-up for each name, however many services use it.
	return query.All(ctx, s.db, query.Value[string], `WITH RECURSIVE used(name) AS (SELECT min(name) FROM config_uses WHERE kind = $1
		UNION ALL SELECT (SELECT min(u.name) FROM config_uses u WHERE u.kind = $1 AND u.name > used.name) FROM used WHERE used.name IS NOT NULL)
		SELECT name FROM used WHERE name IS NOT NULL`, kind)
}
