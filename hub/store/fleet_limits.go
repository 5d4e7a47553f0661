package store

import (
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/errcode"
)

// settingWindows are the sync windows of the hub as a whole.
const settingWindows = "sync_windows"

// settingWindowsManager is who manages them.
const settingWindowsManager = "sync_windows_manager"

// HubWindows implements fleet.WindowStore.
func (s *Store) HubWindows(ctx context.Context) (windows []fleet.SyncWindow, by managed.Manager, err error) {
	for setting, into := range map[string]any{settingWindows: &windows, settingWindowsManager: &by} {
		text, err := s.Setting(ctx, setting)
		if err == nil {
			err = query.FromJSON(text, into)
		}
		if err != nil {
			return nil, by, err
		}
	}
	return windows, by, nil
}

// SetHubWindows implements fleet.WindowStore.
func (s *Store) SetHubWindows(ctx context.Context, windows []fleet.SyncWindow, by managed.Manager) error {
	text, err := query.List(windows)
	if err != nil {
		return err
	}
	if err := s.SetSetting(ctx, settingWindows, text); err != nil {
		return err
	}
	who, err := query.JSON(by)
	if err != nil {
		return err
	}
	return s.SetSetting(ctx, settingWindowsManager, who)
}

// UpdateProject implements fleet.ProjectStore.
func (s *Store) UpdateProject(ctx context.Context, p fleet.Project) error {
	changed, err := wrote(ctx, s, updateProject, &p)
	if err == nil && !changed {
		return errcode.New(errcode.NotFound, "project %s does not exist any more", p.Name)
	}
	return err
}

// ClustersOfProject implements fleet.QuotaStore.
func (s *Store) ClustersOfProject(ctx context.Context, projectID string) (int, error) {
	n, _, err := rowOf(ctx, s, value[int], "SELECT count(*) FROM clusters WHERE project_id = $1", projectID)
	return n, err
}

// ServicesOfProject implements fleet.QuotaStore.
func (s *Store) ServicesOfProject(ctx context.Context, projectID string) (int, error) {
	n, _, err := rowOf(ctx, s, value[int], `SELECT count(*) FROM services WHERE project_id = $1 AND parent_id <> 'hub'
		AND NOT (managed_by_tool = 'hub' AND managed_by_id IN (SELECT id FROM global_services WHERE project_id = ''))`, projectID)
	return n, err
}

// ProjectsByID implements fleet.ProjectReader.
func (s *Store) ProjectsByID(ctx context.Context, ids []string) (all []fleet.Project, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, projectTable.Reader(), selectProjects+"WHERE p.id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// NamespacesOfProject implements fleet.ProjectReader.
func (s *Store) NamespacesOfProject(ctx context.Context, projectID string) (map[string]fleet.Ref, error) {
	used := map[string]fleet.Ref{}
	return used, s.each(ctx, `SELECT s.namespace, COALESCE(c.name, ''), s.name FROM services s LEFT JOIN clusters c ON c.id = s.cluster_id
		WHERE s.project_id = $1 AND NOT (s.parent_id = 'hub' AND s.source_id = '') ORDER BY c.name, s.name`, []any{projectID}, func(row scan) error {
		var namespace string
		var ref fleet.Ref
		if err := row(&namespace, &ref.Cluster, &ref.Name); err != nil {
			return err
		}
		if _, known := used[namespace]; !known {
			used[namespace] = ref
		}
		return nil
	})
}

// ServicesToLimit implements fleet.MoveStore.
func (s *Store) ServicesToLimit(ctx context.Context, after string, limit int) ([]fleet.StoredService, error) {
	// There are nearly always none, and then this is the only query.
	projects, err := rowsOf(ctx, s, value[string], "SELECT id FROM projects WHERE unsettled = 1")
	if err != nil || len(projects) == 0 {
		return nil, err
	}
	var all []fleet.StoredService
	err = chunks(projects, func(args []any) error {
		part, err := rowsOf(ctx, s, serviceTable.Reader(), selectServices+"WHERE s.project_id IN ("+placeholders(3, len(args))+`) AND s.id > $1
			AND s.limits <> COALESCE(p.delivered, '') AND NOT (s.parent_id = 'hub' AND s.source_id = '') ORDER BY s.id LIMIT $2`,
			append([]any{after, limit}, args...)...)
		all = append(all, part...)
		return err
	})
	slices.SortFunc(all, func(a, b fleet.StoredService) int { return strings.Compare(a.ID, b.ID) })
	return all[:min(limit, len(all))], err
}

// ProjectsSettled implements fleet.ProjectStore.
func (s *Store) ProjectsSettled(ctx context.Context) error {
	_, err := s.exec(ctx, "UPDATE projects SET unsettled = 0 WHERE unsettled = 1")
	return err
}

// Settle implements fleet.MoveStore.
func (s *Store) Settle(ctx context.Context, all []fleet.StoredService) error {
	var list query.Values
	for i := range all {
		list.Add(settled.Append(nil, &all[i])...)
	}
	return list.Each(func(list string, args []any) error {
		_, err := s.exec(ctx, "WITH v("+settled.Text()+") AS (VALUES "+list+`)
			UPDATE services SET spec_digest = v.spec_digest, namespace = v.namespace, limits = v.limits FROM v WHERE services.id = v.id
			AND (services.spec_digest <> v.spec_digest OR services.namespace <> v.namespace OR services.limits <> v.limits)`, args...)
		return err
	})
}
