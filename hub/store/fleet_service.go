package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/revisions"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	serviceTable = rows.Of("services s", func(c *rows.Columns, v *fleet.StoredService) {
		rows.Col(c, "COALESCE(c.name, '')", &v.Cluster)
		rows.Col(c, "COALESCE(p.name, '')", &v.Project)
		rows.JSON(c, "COALESCE(d.spec, '')", &v.Spec)
		rows.Col(c, "COALESCE(d.secrets, '')", &v.Secrets)
		rows.Col(c, "COALESCE(o.repository_id, '')", &v.Desired.RepositoryID)
		rows.Col(c, "COALESCE(o.source_revision, '')", &v.Desired.SourceRevision)
		rows.Col(c, "COALESCE(o.digest, '')", &v.Desired.Digest)
		rows.Col(c, "COALESCE(o.entry, '')", &v.Desired.Entry)
		rows.Col(c, "COALESCE(o.size, 0)", &v.Desired.Size)
		rows.Col(c, "COALESCE(o.message, '')", &v.Desired.Message)
		rows.Col(c, "COALESCE(o.author, '')", &v.Desired.Author)
		rows.Col(c, "COALESCE(o.committed_at, 0)", &v.Desired.CommittedAt)
		rows.List(c, "places", &v.Places)
		rows.List(c, "COALESCE(o.parts, '')", &v.Parts)
		rows.List(c, "sync_resources", &v.SyncResources)
		limitsColumn(c, "limits", &v.Limits)
		rows.Fields(c, v)
	})
	selectServices = serviceTable.Select() + `LEFT JOIN clusters c ON c.id = s.cluster_id LEFT JOIN projects p ON p.id = s.project_id
	LEFT JOIN specs d ON d.owner_id = ` + revisions.OwnerOf + ` AND d.version = s.spec_version LEFT JOIN contents o ON o.id = s.content_id `

	insertService = putService(serviceTable.All()).Insert("ON CONFLICT DO NOTHING")
	updateService = putService(serviceTable.Except("cluster_id", "name", "created_at")).Update("id")

	// settled are the columns that a change of limits writes.
	settled = serviceTable.Only("id", "namespace", "spec_digest", "limits").Statement("{columns}")
)

// putService also writes the version of the spec and the content of the current
// revision; both were stored before.
func putService(w rows.Written[fleet.StoredService]) rows.Written[fleet.StoredService] {
	return w.Set("spec_version", "{1}").
		Set("content_id", "COALESCE((SELECT r.content_id FROM revisions r WHERE r.service_id = COALESCE(NULLIF({owner_id}, ''), {id}) AND r.number = {revision}), '')")
}

// InsertService implements fleet.ServiceStore.
func (s *Store) InsertService(ctx context.Context, v fleet.StoredService) error {
	version, err := s.PutSpec(ctx, v.Owner(), v.Spec, v.Secrets)
	if err != nil {
		return err
	}
	inserted, err := wrote(ctx, s, insertService, &v, version)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "service %s exists already", v.Ref())
	}
	if err != nil {
		return err
	}
	return s.putSources(ctx, v.Service, false)
}

// UpdateService implements fleet.ServiceStore.
func (s *Store) UpdateService(ctx context.Context, v fleet.StoredService) error {
	version, err := s.PutSpec(ctx, v.Owner(), v.Spec, v.Secrets)
	if err != nil {
		return err
	}
	changed, err := wrote(ctx, s, updateService, &v, version)
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

// DeleteService implements fleet.ServiceStore.
func (s *Store) DeleteService(ctx context.Context, id string) error {
	if err := s.NameFreed(ctx, id); err != nil {
		return err
	}
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

// ServiceByID implements fleet.ServiceReader.
func (s *Store) ServiceByID(ctx context.Context, id string) (fleet.StoredService, error) {
	v, found, err := rowOf(ctx, s, serviceTable.Reader(), selectServices+"WHERE s.id = $1", id)
	if err == nil && !found {
		return v, noService(id)
	}
	return v, err
}

// ofRef finds a service by its cluster's name and its own. As a join, a
// database without statistics would read the services of that name on all
// clusters, and a template may create one on each.
const ofRef = "WHERE s.cluster_id = (SELECT id FROM clusters WHERE name = $1) AND s.name = $2"

// ServiceByRef implements fleet.ServiceReader.
func (s *Store) ServiceByRef(ctx context.Context, ref fleet.Ref) (fleet.StoredService, error) {
	v, found, err := rowOf(ctx, s, serviceTable.Reader(), selectServices+ofRef, ref.Cluster, ref.Name)
	if err == nil && !found {
		return v, noService(ref.String())
	}
	return v, err
}

// ServicesByID implements fleet.ServiceReader.
func (s *Store) ServicesByID(ctx context.Context, ids []string) (all []fleet.StoredService, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, serviceTable.Reader(), selectServices+"WHERE s.id IN ("+placeholders(1, len(args))+") ORDER BY s.id", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// ServicesOfCluster implements fleet.ServiceReader.
func (s *Store) ServicesOfCluster(ctx context.Context, clusterID string, tombstones []string) (all []fleet.StoredService, err error) {
	if tombstones != nil {
		err = chunks(tombstones, func(args []any) error {
			part, err := rowsOf(ctx, s, serviceTable.Reader(), selectServices+"WHERE s.tombstone_id <> '' AND s.tombstone_id IN ("+placeholders(2, len(args))+
				") AND s.cluster_id = $1 ORDER BY s.name", append([]any{clusterID}, args...)...)
			all = append(all, part...)
			return err
		})
		return all, err
	}
	return rowsOf(ctx, s, serviceTable.Reader(), selectServices+"WHERE s.cluster_id = $1 ORDER BY s.name", clusterID)
}

// ServicesBehind implements fleet.MoveStore.
func (s *Store) ServicesBehind(ctx context.Context, heads []fleet.Head, after string, limit int) ([]fleet.StoredService, error) {
	with, sources, args := revisions.Heads(heads)
	from, most := placeholders(len(args)+1, 1), placeholders(len(args)+2, 1)
	return rowsOf(ctx, s, serviceTable.Reader(), with+selectServices+`WHERE s.pinned_revision = 0 AND s.deleting = '' AND s.id IN (
		SELECT b.id FROM services b JOIN h ON h.source_id = b.source_id LEFT JOIN contents o ON o.id = b.content_id
			WHERE b.source_id IN (`+sources+`) AND b.id > `+from+`
			AND (COALESCE(o.digest, '') <> h.digest OR o.entry <> h.entry OR b.undelivered <> 0 OR b.places <> '')
		UNION SELECT service_id FROM service_sources WHERE source_id IN (`+sources+") AND service_id > "+from+`)
		ORDER BY s.id LIMIT `+most, append(args, after, limit)...)
}

// ListServices implements fleet.ServiceLister.
func (s *Store) ListServices(ctx context.Context, f fleet.ServiceFilter, after fleet.Ref, limit int) ([]fleet.Service, error) {
	where, args, order := servicesAfter(f.Cluster, after)
	for column, wanted := range map[string]string{"p.name": f.Project, "s.name": f.Name, "s.managed_by_tool": f.ManagedBy} {
		if wanted == managed.Nobody && column == "s.managed_by_tool" {
			where = append(where, column+" = ''")
		} else if wanted != "" {
			args = append(args, wanted)
			where = append(where, fmt.Sprintf("%s = $%d", column, len(args)))
		}
	}
	if f.Reach != nil && !f.Reach.All() {
		var condition string
		condition, args = within(*f.Reach, "c", "s", args)
		where = append(where, condition)
	}
	args = append(args, limit)
	stored, err := rowsOf(ctx, s, serviceTable.Reader(), selectServices+"WHERE "+strings.Join(where, " AND ")+
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

// ServicesNamed implements fleet.ServiceLister.
func (s *Store) ServicesNamed(ctx context.Context, name string, clusterIDs []string) (all []fleet.Service, err error) {
	read := func(where string, args ...any) error {
		return eachOf(ctx, s, serviceTable.Reader(), func(v fleet.StoredService) error {
			all = append(all, v.Service)
			return nil
		}, selectServices+"WHERE s.name = $1"+where, append([]any{name}, args...)...)
	}
	if clusterIDs == nil {
		return all, read("")
	}
	return all, chunks(clusterIDs, func(args []any) error {
		return read(" AND s.cluster_id IN ("+placeholders(2, len(args))+")", args...)
	})
}

var (
	rowTable = rows.Of("services s", func(c *rows.Columns, r *fleet.Row) {
		rows.Col(c, "COALESCE(o.digest, '')", &r.Digest)
		rows.Col(c, "COALESCE(o.size, 0)", &r.TarballBytes)
		rows.Flag(c, "pinned_revision", &r.Pinned)
		rows.List(c, "COALESCE(o.parts, '')", &r.Parts)
		rows.Fields(c, r)
	})
	selectRows = rowTable.Select() + "LEFT JOIN contents o ON o.id = s.content_id "
)

// EachRow implements fleet.ServiceLister.
func (s *Store) EachRow(ctx context.Context, fn func(fleet.Row) error) error {
	return eachOf(ctx, s, rowTable.Reader(), fn, selectRows)
}

// RowsByID implements fleet.ServiceLister.
func (s *Store) RowsByID(ctx context.Context, ids []string) (all []fleet.Row, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, rowTable.Reader(), selectRows+"WHERE s.id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// Uses implements fleet.UseReader. It leaves out what no custom resource declares.
func (s *Store) Uses(ctx context.Context, serviceID string) ([]fleet.Used, error) {
	const declared = " AND managed_by_tool = 'operator' "
	return rowsOf(ctx, s, func(row query.Scan) (u fleet.Used, err error) {
		err = row(&u.Noun, &u.ManagedBy.Tool, &u.ManagedBy.ID)
		return u, err
	}, `SELECT 'repository ' || name, managed_by_tool, managed_by_id FROM repositories
			WHERE id IN (SELECT repository_id FROM services WHERE id = $1 UNION SELECT repository_id FROM service_sources WHERE service_id = $1)`+declared+`
		UNION ALL SELECT 'project ' || name, managed_by_tool, managed_by_id FROM projects WHERE id IN (SELECT project_id FROM services WHERE id = $1)`+declared+`
		UNION ALL SELECT b.kind || ' ' || b.name, b.managed_by_tool, b.managed_by_id FROM config_uses u JOIN bags b ON b.kind = u.kind AND b.name = u.name
			WHERE u.service_id = $1`+declared, serviceID)
}
