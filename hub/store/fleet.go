package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

// Fleet returns the rows of the fleet as hub/fleet asks for them.
func Fleet(s *Store) fleet.Store {
	return fleet.Store{
		Snapshots: s, ProjectReader: s, QuotaStore: s, ProjectStore: s, WindowStore: s, ReachReader: s,
		ClusterReader: s, ClusterStore: s, ClusterLister: s, MemoryStore: s,
		ServiceReader: s, ServiceStore: s, ServiceLister: s, UseReader: s, RevisionStore: s,
		StatusReader: s, StatusStore: s, HealStore: s, TestRunStore: s, DiffStore: s,
	}
}

// Other stores read these rows too: the git cache's sources in use are those in
// services.source_id, and its pins are the contents of revisions.

var (
	projectTable        = projectsCounted("0", "0")
	countedProjectTable = projectsCounted("(SELECT count(*) FROM clusters c WHERE c.project_id = p.id)", "(SELECT count(*) FROM services s WHERE s.project_id = p.id)")

	selectProjects        = projectTable.Select()
	selectCountedProjects = countedProjectTable.Select()
	insertProject         = projectTable.All().Insert("ON CONFLICT DO NOTHING")
	updateProject         = projectTable.Only("id", "description", "limits", "delivered", "managed_by_tool", "managed_by_id", "limits_managed_by_tool", "limits_managed_by_id").
				Set("unsettled", "CASE WHEN delivered = {delivered} THEN unsettled ELSE 1 END").Update("id")
)

// projectsCounted defines the table with expressions for the numbers of clusters
// and services of a project.
func projectsCounted(clusters, services string) *rows.Table[fleet.Project] {
	return rows.Of("projects p", func(c *rows.Columns, p *fleet.Project) {
		limitsColumn(c, "limits", &p.Limits)
		limitsColumn(c, "delivered", &p.Delivered)
		rows.Col(c, clusters, &p.Clusters)
		rows.Col(c, services, &p.Services)
		rows.Fields(c, p)
	})
}

// limitsColumn maps limits to a column of JSON, empty where nothing is limited.
// Equal limits have equal texts, because ServicesToLimit compares them.
func limitsColumn(c *rows.Columns, name string, to *fleet.Limits) { rows.Sparse(c, name, to, "{}") }

// InsertProject implements fleet.ProjectStore.
func (s *Store) InsertProject(ctx context.Context, p fleet.Project) error {
	inserted, err := wrote(ctx, s, insertProject, &p)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "project %s exists already", p.Name)
	}
	return err
}

// DeleteProject implements fleet.ProjectStore.
func (s *Store) DeleteProject(ctx context.Context, id string) error {
	name, found, err := rowOf(ctx, s, value[string], "SELECT name FROM global_services WHERE project_id = $1 ORDER BY name LIMIT 1", id)
	if err == nil && found {
		return errcode.New(errcode.Conflict, "the project has the global service %s; delete it first", name)
	}
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "DELETE FROM projects WHERE id = $1", id)
	return err
}

// ProjectByName implements fleet.ProjectReader.
func (s *Store) ProjectByName(ctx context.Context, name string, counted bool) (fleet.Project, error) {
	table, query := projectTable, selectProjects
	if counted {
		table, query = countedProjectTable, selectCountedProjects
	}
	p, found, err := rowOf(ctx, s, table.Reader(), query+"WHERE p.name = $1", name)
	if err == nil && !found {
		return p, errcode.New(errcode.NotFound, "project %.80q does not exist", name)
	}
	return p, err
}

// Projects implements fleet.ProjectReader.
func (s *Store) Projects(ctx context.Context) ([]fleet.Project, error) {
	return rowsOf(ctx, s, countedProjectTable.Reader(), selectCountedProjects+"ORDER BY p.name")
}
