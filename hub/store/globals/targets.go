package globals

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
)

var (
	// Candidates is what is read of the services of a name.
	Candidates = rows.Of("services s", func(c *rows.Columns, v *globals.Candidate) {
		rows.List(c, "places", &v.Places)
		rows.Fields(c, v)
	})
	// SelectCandidates is completed with the clusters and the name.
	SelectCandidates = Candidates.Select()

	// Targets is what is written of targets that share their template's specs; the
	// other columns of services have their defaults.
	Targets = rows.Of("services", func(c *rows.Columns, v *globals.Target) {
		rows.Col(c, "id", &v.ID)
		rows.Col(c, "cluster_id", &v.ClusterID)
		rows.Col(c, "name", &v.Name)
		rows.Col(c, "namespace", &v.Namespace)
		rows.Col(c, "project_id", &v.ProjectID)
		rows.Col(c, "source_id", &v.SourceID)
		rows.Col(c, "repository_id", &v.RepositoryID)
		rows.List(c, "places", &v.Places)
		rows.Col(c, "spec_digest", &v.SpecDigest)
		rows.Col(c, "spec_version", &v.SpecVersion)
		rows.Sparse(c, "limits", &v.Limits, "{}")
		rows.Col(c, "undelivered", &v.Undelivered)
		rows.Col(c, "owner_id", &v.OwnerID)
		rows.Col(c, "declared_by", &v.DeclaredBy)
		rows.Col(c, "managed_by_tool", &v.ManagedBy.Tool)
		rows.Col(c, "managed_by_id", &v.ManagedBy.ID)
		rows.Col(c, "created_at", &v.CreatedAt)
		rows.Col(c, "updated_at", &v.UpdatedAt)
	})
	insertTargets = Targets.All().InsertMany("ON CONFLICT DO NOTHING")
	changed       = Targets.Except("cluster_id", "name", "created_at", "owner_id", "spec_version", "undelivered", "updated_at").Statement("{columns}")

	// Clusters is what decides whether a cluster is selected, and what its spec
	// digests cover.
	Clusters = rows.Of("clusters c", func(c *rows.Columns, v *fleet.Cluster) {
		rows.Col(c, "id", &v.ID)
		rows.Col(c, "name", &v.Name)
		rows.Col(c, "handle", &v.Handle)
		rows.Col(c, "project_id", &v.ProjectID)
		rows.JSON(c, "tags", &v.Tags)
		rows.JSON(c, "admin_tags", &v.AdminTags)
		rows.JSON(c, "former_tags", &v.FormerTags)
		rows.Col(c, "metadata", &v.Metadata)
		rows.Col(c, "distro", &v.Distro)
		rows.Col(c, "kubernetes_version", &v.KubernetesVersion)
		rows.Col(c, "cluster_uid", &v.ClusterUID)
		rows.Col(c, "registered_at", &v.RegisteredAt)
	})
	// ClustersQuery reads a page of all clusters.
	ClustersQuery = Clusters.Select() + "WHERE c.id > $1 ORDER BY c.id LIMIT $2"
	// uncountedQuery leaves out clusters whose tags are all an administrator's, or all
	// of before that was recorded.
	uncountedQuery = Clusters.Select() + "WHERE c.id > $1 AND c.tags <> c.admin_tags AND c.tags <> c.former_tags ORDER BY c.id LIMIT $2"
)

// First implements globals.BindingStore.
func (t *Table) First(ctx context.Context, id string) (string, error) {
	first, _, err := query.One(ctx, t.db, query.Value[string], `SELECT id FROM services WHERE managed_by_tool = 'hub' AND managed_by_id = $1
		ORDER BY CASE WHEN revision > 0 THEN 0 ELSE 1 END, created_at, id LIMIT 1`, id)
	return first, err
}

// Strays implements globals.BindingStore.
func (t *Table) Strays(ctx context.Context, id string) (bool, error) {
	_, found, err := query.One(ctx, t.db, query.Value[string], "SELECT s.id FROM services s JOIN repositories r ON r.id = s.repository_id"+rows.Strays+"AND g.id = $1 UNION ALL "+
		"SELECT s.id FROM service_sources x JOIN services s ON s.id = x.service_id JOIN repositories r ON r.id = x.repository_id"+rows.Strays+"AND g.id = $1 LIMIT 1", id)
	return found, err
}

// Candidates implements globals.TargetStore.
func (t *Table) Candidates(ctx context.Context, name string, clusterIDs []string) (all []globals.Candidate, err error) {
	err = query.Chunks(clusterIDs, func(args []any) error {
		part, err := query.All(ctx, t.db, Candidates.Reader(), SelectCandidates+"WHERE s.cluster_id IN ("+query.Placeholders(2, len(args))+") AND s.name = $1", append([]any{name}, args...)...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// InsertTargets implements globals.TargetStore.
func (t *Table) InsertTargets(ctx context.Context, all []globals.Target) error {
	if _, err := insertTargets.Exec(ctx, t.db, all); err != nil {
		return err
	}
	return t.putSources(ctx, all)
}

// UpdateTargets implements globals.TargetStore.
func (t *Table) UpdateTargets(ctx context.Context, all []globals.Target) error {
	var list query.Values
	var ids []string
	for i := range all {
		list.Add(changed.Append(nil, &all[i])...)
		ids = append(ids, all[i].ID)
	}
	err := list.Each(func(list string, args []any) error {
		version, at := query.Placeholders(len(args)+1, 1), query.Placeholders(len(args)+2, 1)
		_, err := t.db.Exec(ctx, "WITH v("+changed.Text()+") AS (VALUES "+list+`)
			UPDATE services SET namespace = v.namespace, project_id = v.project_id, source_id = v.source_id, repository_id = v.repository_id,
			places = v.places, spec_digest = v.spec_digest, limits = v.limits, declared_by = v.declared_by,
			managed_by_tool = v.managed_by_tool, managed_by_id = v.managed_by_id, spec_version = `+version+", updated_at = "+at+`,
			undelivered = CASE WHEN pinned_revision = 0 AND revision > 0 THEN 1 ELSE undelivered END
			FROM v WHERE services.id = v.id`, append(args, all[0].SpecVersion, all[0].UpdatedAt)...)
		return err
	})
	if err != nil {
		return err
	}
	err = query.Chunks(ids, func(args []any) error {
		_, err := t.db.Exec(ctx, "DELETE FROM service_sources WHERE service_id IN ("+query.Placeholders(1, len(args))+")", args...)
		return err
	})
	if err != nil {
		return err
	}
	return t.putSources(ctx, all)
}

// putSources writes the sources of targets but the first, which is in their rows.
func (t *Table) putSources(ctx context.Context, all []globals.Target) error {
	var list query.Values
	for _, v := range all {
		for _, p := range v.Places[min(1, len(v.Places)):] {
			list.Add(v.ID, p.SourceID, p.RepositoryID)
		}
	}
	return list.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, "INSERT INTO service_sources (service_id, source_id, repository_id) VALUES "+list+" ON CONFLICT DO NOTHING", args...)
		return err
	})
}

// copied is the history that a service takes with it.
const copied = "r.number <= s.revision AND r.number > s.revision - 20"

// OwnSpecs implements globals.TargetStore.
func (t *Table) OwnSpecs(ctx context.Context, ids []string) error {
	return query.Chunks(ids, func(args []any) error {
		of := " WHERE s.owner_id <> '' AND s.id IN (" + query.Placeholders(1, len(args)) + ") "
		specs := "(d.version = s.spec_version OR d.version IN (SELECT r.spec_version FROM revisions r WHERE r.service_id = s.owner_id AND " + copied + "))"
		for _, statement := range []string{
			"INSERT INTO specs (owner_id, version, spec, secrets) SELECT s.id, d.version, d.spec, d.secrets FROM services s JOIN specs d ON d.owner_id = s.owner_id AND " + specs + of +
				"ON CONFLICT DO NOTHING",
			`INSERT INTO spec_documents (document_id, owner_id, version) SELECT d.document_id, s.id, d.version FROM services s
				JOIN spec_documents d ON d.owner_id = s.owner_id AND ` + specs + of + "ON CONFLICT DO NOTHING",
			`INSERT INTO revisions (service_id, number, content_id, spec_version, spec_digest, cause, actor, created_at)
				SELECT s.id, r.number, r.content_id, r.spec_version, r.spec_digest, r.cause, r.actor, r.created_at
				FROM services s JOIN revisions r ON r.service_id = s.owner_id AND ` + copied + of + "ON CONFLICT DO NOTHING",
			"INSERT INTO config_uses (service_id, kind, name) SELECT s.id, u.kind, u.name FROM services s JOIN config_uses u ON u.service_id = s.owner_id" + of + "ON CONFLICT DO NOTHING",
			"UPDATE services SET owner_id = '' WHERE id IN (" + query.Placeholders(1, len(args)) + ")",
		} {
			if _, err := t.db.Exec(ctx, statement, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReleaseTargets implements globals.TargetStore.
func (t *Table) ReleaseTargets(ctx context.Context, ids []string, removals []globals.Removal, at int64) error {
	err := query.Chunks(ids, func(args []any) error {
		_, err := t.db.Exec(ctx, "UPDATE services SET managed_by_tool = '', managed_by_id = '', updated_at = "+query.Placeholders(len(args)+1, 1)+
			" WHERE id IN ("+query.Placeholders(1, len(args))+")", append(args, at)...)
		return err
	})
	if err != nil {
		return err
	}
	var list query.Values
	for _, r := range removals {
		list.Add(r.ID, r.TombstoneID, r.Deletion)
	}
	return list.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, "WITH v(id, tombstone_id, deleting) AS (VALUES "+list+`)
			UPDATE services SET tombstone_id = v.tombstone_id, deleting = v.deleting FROM v WHERE services.id = v.id`, args...)
		return err
	})
}

// ClustersAfter implements globals.StateStore.
func (t *Table) ClustersAfter(ctx context.Context, after string, limit int) ([]fleet.Cluster, error) {
	return query.All(ctx, t.db, Clusters.Reader(), ClustersQuery, after, limit)
}

// UncountedAfter implements globals.StateStore.
func (t *Table) UncountedAfter(ctx context.Context, after string, limit int) ([]fleet.Cluster, error) {
	return query.All(ctx, t.db, Clusters.Reader(), uncountedQuery, after, limit)
}

// MadeOn implements globals.StateStore.
func (t *Table) MadeOn(ctx context.Context, clusterID string) ([]string, error) {
	return query.All(ctx, t.db, query.Value[string], MadeQuery, clusterID)
}

// The statements about lists, for the test of their plans.
const (
	MadeQuery     = "SELECT managed_by_id FROM services WHERE cluster_id = $1 AND managed_by_tool = 'hub'"
	LeftQuery     = "SELECT count(*) FROM (SELECT 1 FROM services s WHERE s.managed_by_tool = 'hub' AND s.managed_by_id = $1 LIMIT 1) x"
	FailuresQuery = `SELECT f.cluster_id, COALESCE(c.name, ''), f.message, f.at FROM global_failures f LEFT JOIN clusters c ON c.id = f.cluster_id
		WHERE f.global_id = $1 ORDER BY f.cluster_id LIMIT $2`
	// StateQuery counts targets by what is stored of them.
	StateQuery = `SELECT CASE WHEN s.paused <> 0 THEN 'Paused' WHEN t.tarball_digest = o.digest AND t.spec_digest = s.spec_digest THEN t.sync ELSE 'Pending' END,
	COALESCE(t.health, 'Unknown'), count(*) FROM services s LEFT JOIN statuses t ON t.service_id = s.id LEFT JOIN contents o ON o.id = s.content_id
	WHERE s.managed_by_tool = 'hub' AND s.managed_by_id = $1 GROUP BY 1, 2`
)

// TargetState implements globals.StateStore.
func (t *Table) TargetState(ctx context.Context, id string) (globals.State, error) {
	type state struct {
		sync, health string
		n            int
	}
	counts := globals.State{Sync: map[string]int{}, Health: map[string]int{}}
	all, err := query.All(ctx, t.db, func(row query.Scan) (s state, err error) {
		err = row(&s.sync, &s.health, &s.n)
		return s, err
	}, StateQuery, id)
	if err != nil {
		return counts, err
	}
	for _, s := range all {
		counts.Targets += s.n
		counts.Sync[s.sync] += s.n
		counts.Health[s.health] += s.n
		if s.sync == string(fleet.Synced) && s.health == string(fleet.Healthy) {
			counts.Ready += s.n
		}
	}
	counts.Failing, _, err = query.One(ctx, t.db, query.Value[int], "SELECT count(*) FROM global_failures WHERE global_id = $1", id)
	if err != nil {
		return counts, err
	}
	pending, _, err := query.One(ctx, t.db, query.Value[int], "SELECT count(*) FROM global_pending WHERE global_id = $1", id)
	counts.Pending = pending > 0
	return counts, err
}

// SetFailures implements globals.StateStore.
func (t *Table) SetFailures(ctx context.Context, id string, clusterIDs []string, all []globals.Failure) error {
	err := query.Chunks(clusterIDs, func(args []any) error {
		_, err := t.db.Exec(ctx, "DELETE FROM global_failures WHERE global_id = $1 AND cluster_id IN ("+query.Placeholders(2, len(args))+")", append([]any{id}, args...)...)
		return err
	})
	if err != nil {
		return err
	}
	var list query.Values
	for _, f := range all {
		list.Add(id, f.ClusterID, f.Message, f.At)
	}
	return list.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, "INSERT INTO global_failures (global_id, cluster_id, message, at) VALUES "+list, args...)
		return err
	})
}

// Failures implements globals.StateStore.
func (t *Table) Failures(ctx context.Context, id string, limit int) ([]globals.Failure, error) {
	return query.All(ctx, t.db, func(row query.Scan) (f globals.Failure, err error) {
		err = row(&f.ClusterID, &f.Cluster, &f.Message, &f.At)
		return f, err
	}, FailuresQuery, id, limit)
}
