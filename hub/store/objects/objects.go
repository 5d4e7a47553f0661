// Package objects stores the declared objects of the kinds without a table of their own,
// and what they refer to, in the hub's database. hub/store embeds its Table; hub/objects
// decides what is written.
//
// Invariants: a statement reads one object, a page of them, or what refers to one target; a
// change is of the revision that was read.
package objects

import (
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ objects.Store = (*Table)(nil)

// Table holds all of it. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the objects in a database.
func New(db query.DB) *Table { return &Table{db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{objectTable: selectObjects, referenceTable: selectReferences}

var (
	objectTable = rows.Of("objects", func(c *rows.Columns, o *objects.Object) {
		rows.Text(c, "spec", &o.Spec)
		rows.Text(c, "pinned", &o.Pinned)
		rows.Fields(c, o)
	})
	selectObjects = objectTable.Select()
	insertObject  = objectTable.All().Insert("ON CONFLICT DO NOTHING")
	updateObject  = objectTable.Except("kind", "name", "created_at", "project_id").Statement("UPDATE objects SET spec = {spec}, revision = {revision}, managed_by_tool = {managed_by_tool}, " +
		"managed_by_id = {managed_by_id}, declared_by = {declared_by}, updated_at = {updated_at}, pinned = {pinned} WHERE id = {id} AND revision = {revision} - 1")

	referenceTable   = rows.Of("object_references", rows.Fields[objects.Reference])
	selectReferences = referenceTable.Select()
	insertReferences = referenceTable.All().InsertMany("")
)

// The queries, for a test of their plans.
var (
	OfID     = selectObjects + "WHERE id = $1"
	Named    = selectObjects + "WHERE kind = $1 AND name = $2"
	Page     = selectObjects + "WHERE kind = $1 AND name > $2 AND {reach} ORDER BY name LIMIT $3"
	Count    = "SELECT count(*) FROM objects WHERE kind = $1"
	Members  = "SELECT count(*) FROM objects WHERE kind = $1 AND project_id = $2 AND project_id <> ''"
	OfObject = selectReferences + "WHERE object_id = $1 ORDER BY field, position"
	Users    = selectObjects + "WHERE id IN (SELECT object_id FROM object_references WHERE target_id = $1) ORDER BY kind, name LIMIT $2"
	Naming   = selectObjects + "WHERE kind = $1 AND id IN (SELECT object_id FROM object_references WHERE target_id = $2) ORDER BY name LIMIT $3"
	SecretOf = "SELECT sealed FROM object_secrets WHERE object_id = $1"
	UsersAre = "SELECT count(DISTINCT object_id) FROM object_references WHERE target_id = $1"
)

// usersNamed is how many users of a target are named.
const usersNamed = 5

// Object implements objects.Store.
func (t *Table) Object(ctx context.Context, kind, name string) (objects.Object, bool, error) {
	return query.One(ctx, t.db, objectTable.Reader(), Named, kind, name)
}

// ObjectByID returns an object by its id.
func (t *Table) ObjectByID(ctx context.Context, id string) (objects.Object, bool, error) {
	return query.One(ctx, t.db, objectTable.Reader(), OfID, id)
}

// Objects implements objects.Store.
func (t *Table) Objects(ctx context.Context, kind, after string, reach identity.Reach, limit int) ([]objects.Object, error) {
	q, args := Within(reach, kind, after, limit)
	return query.All(ctx, t.db, objectTable.Reader(), q, args...)
}

// Within is the query of a page of objects within reach, with its arguments.
func Within(reach identity.Reach, kind, after string, limit int) (q string, args []any) {
	args, condition := []any{kind, after, limit}, "1 = 1"
	if !reach.Everywhere {
		condition = "project_id IN (" + query.Placeholders(len(args)+1, len(reach.Projects)) + ")"
		for _, id := range reach.Projects {
			args = append(args, id)
		}
	}
	if len(reach.Projects) == 0 && !reach.Everywhere {
		condition = "1 = 0"
	}
	if !reach.Administrator {
		condition += fmt.Sprintf(" AND substr(project_id, 1, %d) <> '%s'", len(identity.AdministratorsProject), identity.AdministratorsProject)
	}
	if reach.Only != "" {
		args = append(args, reach.Only)
		condition += fmt.Sprintf(" AND project_id = $%d", len(args))
	}
	return strings.ReplaceAll(Page, "{reach}", condition), args
}

// CountObjects implements objects.Store.
func (t *Table) CountObjects(ctx context.Context, kind, projectID string) (int64, error) {
	q, args := Count, []any{kind}
	if projectID != "" {
		q, args = Members, append(args, projectID)
	}
	n, _, err := query.One(ctx, t.db, query.Value[int64], q, args...)
	return n, err
}

// InsertObject implements objects.Store.
func (t *Table) InsertObject(ctx context.Context, o objects.Object) error {
	return insertObject.ExecElse(ctx, t.db, errcode.New(errcode.Conflict, "%s %s exists already; read it, and repeat the change", o.Kind, o.Name), &o)
}

// UpdateObject implements objects.Store.
func (t *Table) UpdateObject(ctx context.Context, o objects.Object) (bool, error) {
	return updateObject.ExecOne(ctx, t.db, &o)
}

// DeleteObject implements objects.Store.
func (t *Table) DeleteObject(ctx context.Context, o objects.Object) (bool, error) {
	if _, err := t.db.Exec(ctx, "DELETE FROM object_references WHERE object_id = $1", o.ID); err != nil {
		return false, err
	}
	return query.ExecOne(ctx, t.db, "DELETE FROM objects WHERE id = $1 AND revision = $2", o.ID, o.Revision)
}

// References implements objects.Store.
func (t *Table) References(ctx context.Context, objectIDs []string) (all []objects.Reference, err error) {
	err = query.Chunks(objectIDs, func(args []any) error {
		some, err := query.All(ctx, t.db, referenceTable.Reader(), selectReferences+"WHERE object_id IN ("+query.Placeholders(1, len(args))+") ORDER BY object_id, field, position", args...)
		all = append(all, some...)
		return err
	})
	return all, err
}

// PutReferences implements objects.Store.
func (t *Table) PutReferences(ctx context.Context, objectID string, all []objects.Reference) error {
	if _, err := t.db.Exec(ctx, "DELETE FROM object_references WHERE object_id = $1", objectID); err != nil || len(all) == 0 {
		return err
	}
	_, err := insertReferences.Exec(ctx, t.db, all)
	return err
}

// ObjectsNaming returns the objects of a kind that refer to a target, in order of names.
func (t *Table) ObjectsNaming(ctx context.Context, kind, targetID string, limit int) ([]objects.Object, error) {
	return query.All(ctx, t.db, objectTable.Reader(), Naming, kind, targetID, limit)
}

// ObjectSecret returns what is sealed for an object; empty for nothing.
func (t *Table) ObjectSecret(ctx context.Context, objectID string) (string, error) {
	sealed, _, err := query.One(ctx, t.db, query.Value[string], SecretOf, objectID)
	return sealed, err
}

// PutObjectSecret replaces what is sealed for an object; empty deletes it.
func (t *Table) PutObjectSecret(ctx context.Context, objectID, sealed string) error {
	if sealed == "" {
		_, err := t.db.Exec(ctx, "DELETE FROM object_secrets WHERE object_id = $1", objectID)
		return err
	}
	_, err := t.db.Exec(ctx, "INSERT INTO object_secrets (object_id, sealed) VALUES ($1, $2) ON CONFLICT (object_id) DO UPDATE SET sealed = excluded.sealed", objectID, sealed)
	return err
}

// ObjectUsers implements objects.Store.
func (t *Table) ObjectUsers(ctx context.Context, targetID string) (first []objects.Object, total int64, err error) {
	if total, _, err = query.One(ctx, t.db, query.Value[int64], UsersAre, targetID); err != nil || total == 0 {
		return nil, total, err
	}
	first, err = query.All(ctx, t.db, objectTable.Reader(), Users, targetID, usersNamed)
	return first, total, err
}
