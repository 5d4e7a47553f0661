package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/revisions"
	"github.com/axle-cd/axle/internal/errcode"
)

const serviceColumns = `SELECT s.id, s.cluster_id, COALESCE(c.name, ''), s.name, s.namespace, s.project_id, COALESCE(p.name, ''),
	COALESCE(d.spec, ''), COALESCE(d.secrets, ''), s.source_id, s.repository_id, s.revision, COALESCE(o.repository_id, ''), COALESCE(o.source_revision, ''),
	COALESCE(o.digest, ''), COALESCE(o.entry, ''), COALESCE(o.size, 0), COALESCE(o.message, ''), COALESCE(o.author, ''), COALESCE(o.committed_at, 0),
	s.spec_digest, s.paused, s.pinned_revision, s.undelivered, s.deleting, s.tombstone_id, s.sync_request, s.prune_approval, s.parent_id,
	s.revised_at, s.created_at, s.updated_at, s.places, COALESCE(o.parts, ''), s.diff_request, s.sync_resources, s.limits, s.declared_by
	FROM services s LEFT JOIN clusters c ON c.id = s.cluster_id LEFT JOIN projects p ON p.id = s.project_id
	LEFT JOIN specs d ON d.owner_id = s.id AND d.version = s.spec_version LEFT JOIN contents o ON o.id = s.content_id `

func scanService(row scan) (v fleet.StoredService, err error) {
	var spec, places, parts, resources, limits string
	err = row(&v.ID, &v.ClusterID, &v.Cluster, &v.Name, &v.Namespace, &v.ProjectID, &v.Project,
		&spec, &v.Secrets, &v.SourceID, &v.RepositoryID, &v.Revision, &v.Desired.RepositoryID, &v.Desired.SourceRevision,
		&v.Desired.Digest, &v.Desired.Entry, &v.Desired.Size, &v.Desired.Message, &v.Desired.Author, &v.Desired.CommittedAt,
		&v.SpecDigest, &v.Paused, &v.PinnedRevision, &v.Undelivered, &v.Deleting, &v.TombstoneID, &v.SyncRequest, &v.PruneApproval, &v.ParentID,
		&v.RevisedAt, &v.CreatedAt, &v.UpdatedAt, &places, &parts, &v.DiffRequest, &resources, &limits, &v.DeclaredBy)
	if err != nil {
		return v, err
	}
	if err := fromJSON(spec, &v.Spec); err != nil {
		return v, err
	}
	if err := fromJSON(limits, &v.Limits); err != nil {
		return v, err
	}
	if err := query.FromList(places, &v.Places); err != nil {
		return v, err
	}
	if err := query.FromList(resources, &v.SyncResources); err != nil {
		return v, err
	}
	return v, query.FromList(parts, &v.Parts)
}

// serviceArgs returns the columns that both INSERT and UPDATE write, $1 to $23.
// The content is that of the current revision, which was stored before.
func (s *Store) serviceArgs(ctx context.Context, v fleet.StoredService) ([]any, error) {
	version, err := s.PutSpec(ctx, v.ID, v.Spec, v.Secrets)
	if err != nil {
		return nil, err
	}
	places, err := query.List(v.Places)
	if err != nil {
		return nil, err
	}
	resources, err := query.List(v.SyncResources)
	if err != nil {
		return nil, err
	}
	limits, err := limitsText(v.Limits)
	if err != nil {
		return nil, err
	}
	return []any{
		v.ID, v.Namespace, v.ProjectID, version, v.SourceID, v.RepositoryID, v.Revision, v.SpecDigest, v.Paused,
		v.PinnedRevision, v.Deleting, v.TombstoneID, v.SyncRequest, v.PruneApproval, v.ParentID, v.RevisedAt, v.UpdatedAt,
		v.Undelivered, places, v.DiffRequest, resources, limits, v.DeclaredBy,
	}, nil
}

// presentContent selects the content of a service's current revision.
const presentContent = "COALESCE((SELECT r.content_id FROM revisions r WHERE r.service_id = $1 AND r.number = $7), '')"

// InsertService implements fleet.Store.
func (s *Store) InsertService(ctx context.Context, v fleet.StoredService) error {
	args, err := s.serviceArgs(ctx, v)
	if err != nil {
		return err
	}
	args = append(args, v.ClusterID, v.Name, v.CreatedAt)
	inserted, err := s.execOne(ctx, `INSERT INTO services (id, namespace, project_id, spec_version, source_id, repository_id,
		revision, spec_digest, paused, pinned_revision, deleting, tombstone_id, sync_request, prune_approval, parent_id, revised_at,
		updated_at, undelivered, places, diff_request, sync_resources, limits, declared_by, cluster_id, name, created_at, content_id)
		VALUES (`+placeholders(1, len(args))+", "+presentContent+") ON CONFLICT DO NOTHING", args...)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "service %s exists already", v.Ref())
	}
	if err != nil {
		return err
	}
	return s.putSources(ctx, v.Service, false)
}

// UpdateService implements fleet.Store.
func (s *Store) UpdateService(ctx context.Context, v fleet.StoredService) error {
	args, err := s.serviceArgs(ctx, v)
	if err != nil {
		return err
	}
	changed, err := s.execOne(ctx, `UPDATE services SET namespace = $2, project_id = $3, spec_version = $4,
		source_id = $5, repository_id = $6, revision = $7, spec_digest = $8, paused = $9, pinned_revision = $10, deleting = $11,
		tombstone_id = $12, sync_request = $13, prune_approval = $14, parent_id = $15, revised_at = $16, updated_at = $17,
		undelivered = $18, places = $19, diff_request = $20, sync_resources = $21, limits = $22, declared_by = $23,
		content_id = `+presentContent+" WHERE id = $1", args...)
	if err == nil && !changed {
		return noService(v.ID)
	}
	if err != nil {
		return err
	}
	return s.putSources(ctx, v.Service, true)
}

// putSources writes the rows for finding a service by its sources, except for
// the first source, which is in the service's row.
func (s *Store) putSources(ctx context.Context, v fleet.Service, replace bool) error {
	if replace {
		if _, err := s.exec(ctx, "DELETE FROM service_sources WHERE service_id = $1", v.ID); err != nil {
			return err
		}
	}
	for _, p := range v.Places[min(1, len(v.Places)):] {
		_, err := s.exec(ctx, `INSERT INTO service_sources (service_id, source_id, repository_id) VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, v.ID, p.SourceID, p.RepositoryID)
		if err != nil {
			return err
		}
	}
	return nil
}

func noService(name string) error {
	return errcode.New(errcode.NotFound, "service %.150s does not exist", name)
}

// DeleteService implements fleet.Store.
func (s *Store) DeleteService(ctx context.Context, id string) error {
	for _, statement := range []string{
		"DELETE FROM statuses WHERE service_id = $1",
		"DELETE FROM test_runs WHERE service_id = $1",
		"DELETE FROM diffs WHERE service_id = $1",
		"DELETE FROM service_sources WHERE service_id = $1",
		"DELETE FROM config_uses WHERE service_id = $1",
		"DELETE FROM services WHERE id = $1",
	} {
		if _, err := s.exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return s.Forget(ctx, id)
}

// ServiceByID implements fleet.Store.
func (s *Store) ServiceByID(ctx context.Context, id string) (fleet.StoredService, error) {
	v, found, err := rowOf(ctx, s, scanService, serviceColumns+"WHERE s.id = $1", id)
	if err == nil && !found {
		return v, noService(id)
	}
	return v, err
}

// ofRef finds a service by its cluster's name and its own. As a join, a
// database without statistics would read the services of that name on all
// clusters, and a template may create one on each.
const ofRef = "WHERE s.cluster_id = (SELECT id FROM clusters WHERE name = $1) AND s.name = $2"

// ServiceByRef implements fleet.Store.
func (s *Store) ServiceByRef(ctx context.Context, ref fleet.Ref) (fleet.StoredService, error) {
	v, found, err := rowOf(ctx, s, scanService, serviceColumns+ofRef, ref.Cluster, ref.Name)
	if err == nil && !found {
		return v, noService(ref.String())
	}
	return v, err
}

// ServicesByID implements fleet.Store.
func (s *Store) ServicesByID(ctx context.Context, ids []string) (all []fleet.StoredService, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, scanService, serviceColumns+"WHERE s.id IN ("+placeholders(1, len(args))+") ORDER BY s.id", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// ServicesOfCluster implements fleet.Store.
func (s *Store) ServicesOfCluster(ctx context.Context, clusterID string, tombstones []string) (all []fleet.StoredService, err error) {
	if tombstones != nil {
		err = chunks(tombstones, func(args []any) error {
			part, err := rowsOf(ctx, s, scanService, serviceColumns+"WHERE s.tombstone_id <> '' AND s.tombstone_id IN ("+placeholders(2, len(args))+
				") AND s.cluster_id = $1 ORDER BY s.name", append([]any{clusterID}, args...)...)
			all = append(all, part...)
			return err
		})
		return all, err
	}
	return rowsOf(ctx, s, scanService, serviceColumns+"WHERE s.cluster_id = $1 ORDER BY s.name", clusterID)
}

// ServicesBehind implements fleet.MoveStore.
func (s *Store) ServicesBehind(ctx context.Context, heads []fleet.Head, after string, limit int) ([]fleet.StoredService, error) {
	with, sources, args := revisions.Heads(heads)
	from, most := placeholders(len(args)+1, 1), placeholders(len(args)+2, 1)
	return rowsOf(ctx, s, scanService, with+serviceColumns+`WHERE s.pinned_revision = 0 AND s.deleting = '' AND s.id IN (
		SELECT b.id FROM services b JOIN h ON h.source_id = b.source_id LEFT JOIN contents o ON o.id = b.content_id
			WHERE b.source_id IN (`+sources+`) AND b.id > `+from+`
			AND (COALESCE(o.digest, '') <> h.digest OR o.entry <> h.entry OR b.undelivered <> 0 OR b.places <> '')
		UNION SELECT service_id FROM service_sources WHERE source_id IN (`+sources+") AND service_id > "+from+`)
		ORDER BY s.id LIMIT `+most, append(args, after, limit)...)
}

// ListServices implements fleet.Store.
func (s *Store) ListServices(ctx context.Context, f fleet.ServiceFilter, after fleet.Ref, limit int) ([]fleet.Service, error) {
	where, args, order := servicesAfter(f.Cluster, after)
	for column, wanted := range map[string]string{"p.name": f.Project, "s.name": f.Name} {
		if wanted != "" {
			args = append(args, wanted)
			where = append(where, fmt.Sprintf("%s = $%d", column, len(args)))
		}
	}
	if f.Reach != nil && !everything(*f.Reach) {
		var condition string
		condition, args = within(*f.Reach, "c", "s", args)
		where = append(where, condition)
	}
	args = append(args, limit)
	stored, err := rowsOf(ctx, s, scanService, serviceColumns+"WHERE "+strings.Join(where, " AND ")+
		fmt.Sprintf(" ORDER BY %s LIMIT $%d", order, len(args)), args...)
	if err != nil {
		return nil, err
	}
	services := make([]fleet.Service, len(stored))
	for i, v := range stored {
		services[i] = v.Service
	}
	return services, nil
}

// servicesAfter begins a page of services, of one cluster or of all, so that it
// reads from an index only what it returns.
func servicesAfter(cluster string, after fleet.Ref) (where []string, args []any, order string) {
	switch {
	case cluster == "":
		return []string{"c.name >= $1", "(c.name > $1 OR s.name > $2)"}, []any{after.Cluster, after.Name}, "c.name, s.name"
	case after.Cluster > cluster:
		return []string{"1 = 0"}, nil, "s.name"
	case after.Cluster < cluster:
		after.Name = ""
	}
	return []string{"s.cluster_id = (SELECT id FROM clusters WHERE name = $1)", "s.name > $2"}, []any{cluster, after.Name}, "s.name"
}

// ServicesNamed implements fleet.Store.
func (s *Store) ServicesNamed(ctx context.Context, name string, clusterIDs []string) (all []fleet.Service, err error) {
	read := func(where string, args ...any) error {
		return s.each(ctx, serviceColumns+"WHERE s.name = $1"+where, append([]any{name}, args...), func(row scan) error {
			v, err := scanService(row)
			all = append(all, v.Service)
			return err
		})
	}
	if clusterIDs == nil {
		return all, read("")
	}
	return all, chunks(clusterIDs, func(args []any) error {
		return read(" AND s.cluster_id IN ("+placeholders(2, len(args))+")", args...)
	})
}

const rowColumns = `SELECT s.id, s.cluster_id, s.name, s.namespace, s.source_id, COALESCE(o.digest, ''), COALESCE(o.size, 0), s.spec_digest,
	s.paused, s.pinned_revision, s.deleting, s.tombstone_id, COALESCE(o.parts, '')
	FROM services s LEFT JOIN contents o ON o.id = s.content_id `

func scanRow(row scan) (r fleet.Row, err error) {
	var pinned int64
	var parts string
	err = row(&r.ID, &r.ClusterID, &r.Name, &r.Namespace, &r.SourceID, &r.Digest, &r.TarballBytes, &r.SpecDigest, &r.Paused, &pinned,
		&r.Deleting, &r.TombstoneID, &parts)
	if err != nil {
		return r, err
	}
	r.Pinned = pinned != 0
	return r, query.FromList(parts, &r.Parts)
}

// EachRow implements fleet.Store.
func (s *Store) EachRow(ctx context.Context, fn func(fleet.Row) error) error {
	return s.each(ctx, rowColumns, nil, func(row scan) error {
		r, err := scanRow(row)
		if err != nil {
			return err
		}
		return fn(r)
	})
}

// RowsByID implements fleet.Store.
func (s *Store) RowsByID(ctx context.Context, ids []string) (all []fleet.Row, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, scanRow, rowColumns+"WHERE s.id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}
