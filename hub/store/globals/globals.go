// Package globals stores in the hub's database global services, what has to be
// compared for them, and the rows of their targets, many in one statement.
// hub/store embeds its Table.
//
// It begins no transaction and decides nothing: hub/fleet/globals says which
// targets are made, changed and released. Single services are hub/store's.
//
// Invariants: a statement about targets is about up to 500 of them, and writes no
// more per target than its row. A change of a cluster costs one look-up while
// there are no global services.
package globals

import (
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// History is the part of hub/store/revisions that templates need.
type History interface {
	PutSpec(ctx context.Context, ownerID string, spec fleet.Spec, secrets string) (int64, error)
	TrimSpecs(ctx context.Context, ownerID string) error
	Forget(ctx context.Context, ownerID string) error
}

// Table holds all global services. Its methods are safe for concurrent use.
type Table struct {
	db      query.DB
	history History
	clock   clock.Clock
}

// New returns the global services in a database.
func New(db query.DB, h History, c clock.Clock) *Table { return &Table{db, h, c} }

var (
	_ globals.Store        = (*Table)(nil)
	_ globals.BindingStore = (*Table)(nil)
	_ globals.WorkStore    = (*Table)(nil)
	_ globals.TargetStore  = (*Table)(nil)
	_ globals.StateStore   = (*Table)(nil)
)

// Globals are the rows of global services.
var (
	Globals = rows.Of("global_services g", func(c *rows.Columns, g *globals.Global) {
		rows.Col(c, "COALESCE(p.name, '')", &g.Project)
		rows.JSON(c, "selectors", &g.Selectors)
		rows.Sparse(c, "plan", &g.Plan, "null")
		rows.Col(c, "held_version", &g.Held)
		rows.JSON(c, "COALESCE(d.spec, '')", &g.Spec)
		rows.Col(c, "COALESCE(d.secrets, '')", &g.Secrets)
		rows.List(c, "COALESCE(d.repositories, '')", &g.Repositories)
		rows.Fields(c, g)
	})
	selectGlobal = Globals.Select() + "LEFT JOIN projects p ON p.id = g.project_id LEFT JOIN specs d ON d.owner_id = g.id AND d.version = g.spec_version "
	// A list has no templates.
	SelectGlobals = strings.NewReplacer("COALESCE(d.spec, '')", "''", "COALESCE(d.secrets, '')", "''", "COALESCE(d.repositories, '')", "''").Replace(Globals.Select()) +
		"LEFT JOIN projects p ON p.id = g.project_id "
	putGlobal = Globals.All().Keep("name", "created_at").Upsert("id")
)

func (t *Table) global(ctx context.Context, where, value string) (globals.Global, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "global service %.80q does not exist; axle globalservices list shows the existing ones", value), Globals.Reader(), selectGlobal+where, value)
}

// GlobalByName implements globals.Store.
func (t *Table) GlobalByName(ctx context.Context, name string) (globals.Global, error) {
	return t.global(ctx, "WHERE g.name = $1", name)
}

// GlobalByID implements globals.Store.
func (t *Table) GlobalByID(ctx context.Context, id string) (globals.Global, error) {
	return t.global(ctx, "WHERE g.id = $1", id)
}

// Globals implements globals.Store.
func (t *Table) Globals(ctx context.Context, after string, limit int, reach *identity.Reach) ([]globals.Global, error) {
	if reach == nil {
		return query.All(ctx, t.db, Globals.Reader(), SelectGlobals+"WHERE g.name > $1 ORDER BY g.name LIMIT $2", after, limit)
	}
	return page(ctx, t.db, [2]string{"WHERE g.name > $1 AND g.namespace = ''", "g.name"}, after, limit, reach)
}

// Namespaces implements namespaces.Store.
func (t *Table) Namespaces(ctx context.Context, after string, limit int, reach *identity.Reach) ([]globals.Global, error) {
	return page(ctx, t.db, [2]string{WhereNamespaces, "g.namespace"}, after, limit, reach)
}

// WhereNamespaces are the global services that make managed namespaces.
const WhereNamespaces = "WHERE g.namespace > $1 AND g.namespace <> '' AND g.name = g.namespace || '-ns'"

// page returns what a person may see: which has a condition and an order.
func page(ctx context.Context, db query.DB, which [2]string, after string, limit int, reach *identity.Reach) ([]globals.Global, error) {
	where, order, args := which[0], which[1], []any{after}
	if !reach.Everywhere {
		if len(reach.Projects) == 0 {
			return nil, nil
		}
		where += " AND g.project_id IN (" + query.Placeholders(2, len(reach.Projects)) + ")"
		for _, id := range reach.Projects {
			args = append(args, id)
		}
	}
	if !reach.Administrator {
		args = append(args, identity.AdministratorsProject)
		where += fmt.Sprintf(" AND substr(g.project_id, 1, %d) <> $%d", len(identity.AdministratorsProject), len(args))
	}
	if reach.Only != "" {
		args = append(args, reach.Only)
		where += " AND g.project_id = " + query.Placeholders(len(args), 1)
	}
	args = append(args, limit)
	return query.All(ctx, db, Globals.Reader(), SelectGlobals+where+" ORDER BY "+order+" LIMIT "+query.Placeholders(len(args), 1), args...)
}

// PutGlobal implements globals.Store.
func (t *Table) PutGlobal(ctx context.Context, g globals.Global) (int64, error) {
	version, err := t.history.PutSpec(ctx, g.ID, g.Spec, g.Secrets)
	if err != nil {
		return 0, err
	}
	g.SpecVersion = version
	if _, err := putGlobal.Exec(ctx, t.db, &g); err != nil {
		return 0, err
	}
	if err := t.PutBindings(ctx, g.ID, version, g.Repositories); err != nil {
		return 0, err
	}
	return version, t.history.TrimSpecs(ctx, g.ID)
}

// PutBindings implements globals.BindingStore.
func (t *Table) PutBindings(ctx context.Context, id string, version int64, repositories []string) error {
	text, err := query.List(repositories)
	if err != nil {
		return err
	}
	_, err = t.db.Exec(ctx, "UPDATE specs SET repositories = $3 WHERE owner_id = $1 AND version = $2", id, version, text)
	return err
}

// Unbound implements globals.BindingStore.
func (t *Table) Unbound(ctx context.Context) ([]string, error) {
	return query.All(ctx, t.db, query.Value[string], "SELECT DISTINCT g.id FROM "+rows.Templates+"WHERE d.repositories = '' AND g.deleting = 0 ORDER BY g.id")
}

// BoundTo returns the global services whose template is bound to a repository, or that
// have a target that follows it, in order of name, without templates.
func (t *Table) BoundTo(ctx context.Context, repositoryID string) ([]globals.Global, error) {
	return query.All(ctx, t.db, Globals.Reader(), SelectGlobals+"WHERE g.id IN (SELECT g.id FROM "+rows.Templates+"WHERE d.repositories LIKE "+rows.Contains+
		" UNION SELECT s.managed_by_id FROM services s WHERE s.managed_by_tool = 'hub' AND s.id IN ("+rows.Followers+")) ORDER BY g.name", repositoryID)
}

// BoundTemplates returns all global services with the present templates.
func (t *Table) BoundTemplates(ctx context.Context) ([]globals.Global, error) {
	return query.All(ctx, t.db, Globals.Reader(), selectGlobal+"WHERE g.deleting = 0 ORDER BY g.name")
}

// ForgetGlobal implements globals.Store.
func (t *Table) ForgetGlobal(ctx context.Context, id string) (bool, error) {
	left, _, err := query.One(ctx, t.db, query.Value[int64], LeftQuery, id)
	if err != nil || left > 0 {
		return false, err
	}
	for _, statement := range []string{
		"DELETE FROM global_failures WHERE global_id = $1",
		"DELETE FROM config_uses WHERE service_id = $1",
		"DELETE FROM global_services WHERE id = $1",
	} {
		if _, err := t.db.Exec(ctx, statement, id); err != nil {
			return false, err
		}
	}
	return true, t.history.Forget(ctx, id)
}

// PendingWork implements globals.WorkStore.
func (t *Table) PendingWork(ctx context.Context, limit int) ([]globals.Work, error) {
	return query.All(ctx, t.db, func(row query.Scan) (w globals.Work, err error) {
		err = row(&w.GlobalID, &w.ClusterID, &w.Edition)
		return w, err
	}, PendingQuery, limit)
}

// PendingQuery are the rows of work, one of each project after the other. A cluster's are
// those of its project.
const PendingQuery = `SELECT x.global_id, x.cluster_id, x.edition FROM (
		SELECT p.global_id, p.cluster_id, p.edition,
			ROW_NUMBER() OVER (PARTITION BY COALESCE(g.project_id, c.project_id, '') ORDER BY p.global_id, p.cluster_id) AS turn
		FROM global_pending p LEFT JOIN global_services g ON g.id = p.global_id LEFT JOIN clusters c ON c.id = p.cluster_id
	) x ORDER BY x.turn, x.global_id, x.cluster_id LIMIT $1`

// onWork makes work that is there already another edition.
const onWork = " ON CONFLICT (global_id, cluster_id) DO UPDATE SET edition = global_pending.edition + 1"

// AddWork implements globals.WorkStore.
func (t *Table) AddWork(ctx context.Context, w globals.Work) error {
	_, err := t.db.Exec(ctx, "INSERT INTO global_pending (global_id, cluster_id, edition) VALUES ($1, $2, $3)"+onWork, w.GlobalID, w.ClusterID, w.Edition)
	return err
}

// WorkDone implements globals.WorkStore.
func (t *Table) WorkDone(ctx context.Context, w globals.Work) error {
	_, err := t.db.Exec(ctx, "DELETE FROM global_pending WHERE global_id = $1 AND cluster_id = $2 AND edition = $3", w.GlobalID, w.ClusterID, w.Edition)
	return err
}

// ClusterChanged asks for a comparison of a cluster before its row is written, if
// what selects it or is in templates differs.
func (t *Table) ClusterChanged(ctx context.Context, c fleet.Cluster) error {
	var tags [3]string
	for i, of := range []map[string]string{c.Tags, c.AdminTags, c.FormerTags} {
		var err error
		if tags[i], err = query.JSON(of); err != nil {
			return err
		}
	}
	return t.look(ctx, c.ID, `NOT EXISTS (SELECT 1 FROM clusters WHERE id = $1 AND handle = $3 AND project_id = $4 AND tags = $5 AND metadata = $6
		AND distro = $7 AND kubernetes_version = $8 AND cluster_uid = $9 AND admin_tags = $10 AND former_tags = $11)`,
		c.Handle, c.ProjectID, tags[0], c.Metadata, c.Distro, c.KubernetesVersion, c.ClusterUID, tags[1], tags[2])
}

// ClusterGone forgets what was recorded of a cluster.
func (t *Table) ClusterGone(ctx context.Context, clusterID string) error {
	for _, statement := range []string{"DELETE FROM global_failures WHERE cluster_id = $1", "DELETE FROM global_pending WHERE global_id = '' AND cluster_id = $1"} {
		if _, err := t.db.Exec(ctx, statement, clusterID); err != nil {
			return err
		}
	}
	return nil
}

// NameFreed asks for a comparison of a cluster on which a service is gone whose
// name a global service has.
func (t *Table) NameFreed(ctx context.Context, serviceID string) error {
	cluster, found, err := query.One(ctx, t.db, query.Value[string],
		"SELECT s.cluster_id FROM services s JOIN global_services g ON g.name = s.name WHERE s.id = $1", serviceID)
	if err != nil || !found {
		return err
	}
	return t.look(ctx, cluster, "1 = 1")
}

// look adds the work of a cluster under a condition, whose arguments begin at $3.
func (t *Table) look(ctx context.Context, clusterID, condition string, args ...any) error {
	n, err := t.db.Exec(ctx, `INSERT INTO global_pending (global_id, cluster_id, edition) SELECT '', CAST($1 AS TEXT), CAST($2 AS BIGINT)
		WHERE EXISTS (SELECT 1 FROM global_services) AND `+condition+onWork, append([]any{clusterID, clock.Micros(t.clock.Now())}, args...)...)
	if err != nil || n == 0 {
		return err
	}
	return event.Append(ctx, event.Change{Kind: event.KindGlobal, Key: clusterID})
}
