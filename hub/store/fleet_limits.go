package store

import (
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/errcode"
)

// settingWindows are the sync windows of the hub as a whole.
const settingWindows = "sync_windows"

// limitsText encodes limits as JSON, empty where nothing is limited. Equal
// limits have equal texts, because ServicesToLimit compares them.
func limitsText(l fleet.Limits) (string, error) {
	if l.Zero() {
		return "", nil
	}
	return jsonText(l)
}

// HubWindows implements fleet.LimitStore.
func (s *Store) HubWindows(ctx context.Context) (windows []fleet.SyncWindow, err error) {
	text, err := s.Setting(ctx, settingWindows)
	if err != nil {
		return nil, err
	}
	return windows, fromJSON(text, &windows)
}

// SetHubWindows implements fleet.LimitStore.
func (s *Store) SetHubWindows(ctx context.Context, windows []fleet.SyncWindow) error {
	text, err := query.List(windows)
	if err != nil {
		return err
	}
	return s.SetSetting(ctx, settingWindows, text)
}

// UpdateProject implements fleet.ProjectStore.
func (s *Store) UpdateProject(ctx context.Context, p fleet.Project) error {
	limits, err := limitsText(p.Limits)
	if err != nil {
		return err
	}
	delivered, err := limitsText(p.Delivered)
	if err != nil {
		return err
	}
	changed, err := s.execOne(ctx, `UPDATE projects SET description = $2, limits = $3,
		unsettled = CASE WHEN delivered = $4 THEN unsettled ELSE 1 END, delivered = $4 WHERE id = $1`, p.ID, p.Description, limits, delivered)
	if err == nil && !changed {
		return errcode.New(errcode.NotFound, "project %s does not exist any more", p.Name)
	}
	return err
}

// ProjectsByID implements fleet.ProjectStore.
func (s *Store) ProjectsByID(ctx context.Context, ids []string) (all []fleet.Project, err error) {
	err = chunks(ids, func(args []any) error {
		part, err := rowsOf(ctx, s, scanProject, projectRow+"WHERE p.id IN ("+placeholders(1, len(args))+")", args...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// NamespacesOfProject implements fleet.LimitStore.
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
		part, err := rowsOf(ctx, s, scanService, serviceColumns+"WHERE s.project_id IN ("+placeholders(3, len(args))+`) AND s.id > $1
			AND s.limits <> COALESCE(p.delivered, '') AND NOT (s.parent_id = 'hub' AND s.source_id = '') ORDER BY s.id LIMIT $2`,
			append([]any{after, limit}, args...)...)
		all = append(all, part...)
		return err
	})
	slices.SortFunc(all, func(a, b fleet.StoredService) int { return strings.Compare(a.ID, b.ID) })
	return all[:min(limit, len(all))], err
}

// ProjectsSettled implements fleet.LimitStore.
func (s *Store) ProjectsSettled(ctx context.Context) error {
	_, err := s.exec(ctx, "UPDATE projects SET unsettled = 0 WHERE unsettled = 1")
	return err
}

// Settle implements fleet.MoveStore.
func (s *Store) Settle(ctx context.Context, all []fleet.StoredService) error {
	var rows query.Values
	for _, v := range all {
		limits, err := limitsText(v.Limits)
		if err != nil {
			return err
		}
		rows.Add(v.ID, v.SpecDigest, v.Namespace, limits)
	}
	return rows.Each(func(list string, args []any) error {
		_, err := s.exec(ctx, "WITH v(id, spec_digest, namespace, limits) AS (VALUES "+list+`)
			UPDATE services SET spec_digest = v.spec_digest, namespace = v.namespace, limits = v.limits FROM v WHERE services.id = v.id
			AND (services.spec_digest <> v.spec_digest OR services.namespace <> v.namespace OR services.limits <> v.limits)`, args...)
		return err
	})
}
