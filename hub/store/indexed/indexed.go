// Package indexed reads from the hub's database what the index of the fleet holds. Its
// caller is hub/fleet/index, through the interfaces of its Store; it writes nothing.
//
// Invariants: the start is one statement per table, and a change reads by id; no
// statement reads components, errors, specs or secrets.
package indexed

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
)

// Tables are the tables that the index is made of. Their methods are safe for concurrent use.
type Tables struct{ db query.DB }

// New returns the tables of a database.
func New(db query.DB) *Tables { return &Tables{db} }

var (
	_ index.ServiceStore = (*Tables)(nil)
	_ index.ObjectStore  = (*Tables)(nil)
)

// Failing is an expression: a source of the service cannot be used. The first one is in
// the service's row, the others have rows of their own.
const Failing = `CASE WHEN EXISTS (SELECT 1 FROM heads h WHERE h.source_id = s.source_id AND h.error <> '')
	OR s.places <> '' AND EXISTS (SELECT 1 FROM service_sources x JOIN heads h ON h.source_id = x.source_id WHERE x.service_id = s.id AND h.error <> '') THEN 1 ELSE 0 END`

// Services, Clusters, Repositories and Projects are the rows.
var (
	Services = rows.Of("services s", func(c *rows.Columns, f *index.Facts) {
		rows.Col(c, "id", &f.ID)
		rows.Col(c, "cluster_id", &f.ClusterID)
		rows.Col(c, "name", &f.Name)
		rows.Col(c, "namespace", &f.Namespace)
		rows.Col(c, "project_id", &f.ProjectID)
		rows.Col(c, "COALESCE(p.name, '')", &f.Project)
		rows.Col(c, "repository_id", &f.RepositoryID)
		rows.Col(c, "COALESCE(CASE WHEN r.name LIKE '/%' THEN r.url ELSE r.name END, '')", &f.Repository)
		rows.Col(c, "COALESCE(g.name, '')", &f.Global)
		rows.Col(c, "managed_by_tool", &f.ManagedBy.Tool)
		rows.Col(c, "COALESCE(o.digest, '')", &f.Desired.Digest)
		rows.Col(c, "COALESCE(o.source_revision, '')", &f.Desired.SourceRevision)
		rows.Col(c, "spec_digest", &f.SpecDigest)
		rows.Col(c, "paused", &f.Paused)
		rows.Col(c, "pinned_revision", &f.PinnedRevision)
		rows.Col(c, "undelivered", &f.Undelivered)
		rows.Col(c, "deleting", &f.Deleting)
		rows.Col(c, "revised_at", &f.RevisedAt)
		rows.Col(c, "created_at", &f.CreatedAt)
		rows.Col(c, "updated_at", &f.UpdatedAt)
		rows.Col(c, "COALESCE(t.sync, '')", &f.Status.Sync)
		rows.Col(c, "COALESCE(t.health, '')", &f.Status.Health)
		rows.Col(c, "COALESCE(t.tarball_digest, '')", &f.Status.TarballDigest)
		rows.Col(c, "COALESCE(t.spec_digest, '')", &f.Status.SpecDigest)
		rows.Col(c, "COALESCE(t.source_revision, '')", &f.Status.SourceRevision)
		rows.Col(c, "COALESCE(t.reported_at, 0)", &f.Status.ReportedAt)
		rows.Col(c, Failing, &f.Failing)
	})
	selectServices = Services.Select() + `LEFT JOIN projects p ON p.id = s.project_id LEFT JOIN repositories r ON r.id = s.repository_id
	LEFT JOIN global_services g ON g.id = CASE WHEN s.managed_by_tool = 'hub' THEN s.managed_by_id ELSE s.owner_id END
	LEFT JOIN contents o ON o.id = s.content_id LEFT JOIN statuses t ON t.service_id = s.id `

	Clusters = rows.Of("clusters c", func(c *rows.Columns, v *fleet.Cluster) {
		rows.Col(c, "id", &v.ID)
		rows.Col(c, "name", &v.Name)
		rows.Col(c, "handle", &v.Handle)
		rows.Col(c, "project_id", &v.ProjectID)
		rows.Col(c, "COALESCE(p.name, '')", &v.Project)
		rows.JSON(c, "tags", &v.Tags)
		rows.Col(c, "distro", &v.Distro)
		rows.Col(c, "kubernetes_version", &v.KubernetesVersion)
		rows.Col(c, "agent_version", &v.AgentVersion)
		rows.Col(c, "nodes", &v.Nodes)
		rows.Col(c, "registered_at", &v.RegisteredAt)
		rows.Col(c, "pending", &v.Pending)
		rows.Col(c, "created_at", &v.CreatedAt)
		rows.Col(c, "managed_by_tool", &v.ManagedBy.Tool)
	})
	selectClusters = Clusters.Select() + "LEFT JOIN projects p ON p.id = c.project_id "

	Repositories = rows.Of("repositories r", func(c *rows.Columns, v *repository) {
		rows.Col(c, "health_message", &v.Message)
		rows.JSON(c, "options", &v.options)
		rows.FieldsBut(c, v, &v.Repository.Internal)
	})
	selectRepositories = Repositories.Select()

	Projects = rows.Of("projects p", func(c *rows.Columns, v *index.Project) {
		rows.Sparse(c, "limits", &v.Limits, "{}")
		rows.Fields(c, v)
	})
	selectProjects = Projects.Select()
)

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{Services: selectServices, Clusters: selectClusters, Repositories: selectRepositories, Projects: selectProjects}

// repository has the one option that matters here.
type repository struct {
	index.Repository
	options struct {
		Internal bool `json:"internal"`
	}
}

// EachService implements index.ServiceStore.
func (t *Tables) EachService(ctx context.Context, ids []string, fn func(index.Facts) error) error {
	if ids == nil {
		return query.Stream(ctx, t.db, Services.Reader(), fn, selectServices)
	}
	return query.Chunks(ids, func(args []any) error {
		return query.Stream(ctx, t.db, Services.Reader(), fn, ServicesByID(len(args)), args...)
	})
}

// ServicesByID is the statement for services by id.
func ServicesByID(n int) string {
	return selectServices + "WHERE s.id IN (" + query.Placeholders(1, n) + ")"
}

// FailingSources implements index.ServiceStore.
func (t *Tables) FailingSources(ctx context.Context, ids []string) (all []string, err error) {
	if ids == nil {
		return query.All(ctx, t.db, query.Value[string], "SELECT source_id FROM heads WHERE error <> ''")
	}
	err = query.Chunks(ids, func(args []any) error {
		part, err := query.All(ctx, t.db, query.Value[string], FailingByID(len(args)), args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// FailingByID is the statement for failing sources by id.
func FailingByID(n int) string {
	return "SELECT source_id FROM heads WHERE source_id IN (" + query.Placeholders(1, n) + ") AND error <> ''"
}

// OfSource finds the services of a source, whose first source it is or another.
const OfSource = `SELECT id FROM services WHERE source_id = $1 AND id > $2
	UNION SELECT service_id FROM service_sources WHERE source_id = $1 AND service_id > $2 ORDER BY 1 LIMIT $3`

// ServicesOfSource implements index.ServiceStore.
func (t *Tables) ServicesOfSource(ctx context.Context, sourceID, after string, limit int) ([]string, error) {
	return query.All(ctx, t.db, query.Value[string], OfSource, sourceID, after, limit)
}

// IndexedClusters implements index.ObjectStore.
func (t *Tables) IndexedClusters(ctx context.Context, ids []string) ([]fleet.Cluster, error) {
	return objects(ctx, t.db, Clusters, selectClusters, "c.id", ids)
}

// IndexedRepositories implements index.ObjectStore.
func (t *Tables) IndexedRepositories(ctx context.Context, ids []string) ([]index.Repository, error) {
	all, err := objects(ctx, t.db, Repositories, selectRepositories, "r.id", ids)
	out := make([]index.Repository, len(all))
	for i, r := range all {
		out[i] = r.Repository
		out[i].Internal = r.options.Internal
	}
	return out, err
}

// IndexedProjects implements index.ObjectStore.
func (t *Tables) IndexedProjects(ctx context.Context, ids []string) ([]index.Project, error) {
	return objects(ctx, t.db, Projects, selectProjects, "p.id", ids)
}

// objects reads rows by id, or all of them.
func objects[T any](ctx context.Context, db query.DB, table *rows.Table[T], statement, key string, ids []string) (all []T, err error) {
	if ids == nil {
		return query.All(ctx, db, table.Reader(), statement)
	}
	err = query.Chunks(ids, func(args []any) error {
		part, err := query.All(ctx, db, table.Reader(), byID(statement, key, len(args)), args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

func byID(statement, key string, n int) string {
	return statement + "WHERE " + key + " IN (" + query.Placeholders(1, n) + ")"
}

// ObjectsByID are the statements for clusters, repositories and projects by id.
func ObjectsByID(n int) map[string]string {
	return map[string]string{"clusters": byID(selectClusters, "c.id", n), "repositories": byID(selectRepositories, "r.id", n), "projects": byID(selectProjects, "p.id", n)}
}
