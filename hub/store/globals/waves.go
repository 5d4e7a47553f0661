package globals

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

// The statements about rollouts, for the test of their plans.
const (
	HeldQuery  = "SELECT id FROM global_services WHERE held_version > 0 AND id > $1 ORDER BY id LIMIT $2"
	onClusters = "WHERE s.managed_by_tool = 'hub' AND s.managed_by_id = $1"
)

var (
	// Reports are what a rollout reads of targets.
	Reports = rows.Of("services s", func(c *rows.Columns, v *globals.Report) {
		rows.Col(c, "COALESCE(c.name, '')", &v.Cluster)
		rows.Col(c, "COALESCE(c.project_id, '')", &v.ProjectID)
		rows.Col(c, "COALESCE(p.name, '')", &v.Project)
		rows.Col(c, "COALESCE(c.poll_interval, 0)", &v.PollInterval)
		rows.Col(c, "CASE WHEN c.registered_at > 0 THEN 1 ELSE 0 END", &v.Registered)
		rows.Col(c, "CASE WHEN s.pinned_revision > 0 OR s.paused <> 0 THEN 1 ELSE 0 END", &v.Held)
		rows.Col(c, "CASE WHEN t.tarball_digest = o.digest AND t.spec_digest = s.spec_digest AND s.undelivered = 0 THEN 1 ELSE 0 END", &v.Current)
		rows.Col(c, "COALESCE(t.sync, '')", &v.Sync)
		rows.Col(c, "COALESCE(t.health, '')", &v.Health)
		rows.Col(c, "COALESCE(t.message, '')", &v.Message)
		rows.Fields(c, v)
	})
	// SelectReports is completed with the targets.
	SelectReports = Reports.Select() + `LEFT JOIN clusters c ON c.id = s.cluster_id LEFT JOIN projects p ON p.id = c.project_id LEFT JOIN statuses t ON t.service_id = s.id
		LEFT JOIN contents o ON o.id = s.content_id `
	// ReportsQuery reads all targets of a global service.
	ReportsQuery = SelectReports + onClusters

	// Templates are the versions of a template.
	Templates = rows.Of("specs d", func(c *rows.Columns, v *globals.Template) {
		rows.JSON(c, "spec", &v.Spec)
		rows.Col(c, "secrets", &v.Secrets)
		rows.List(c, "repositories", &v.Repositories)
	})
	selectTemplate = Templates.Select() + "WHERE d.owner_id = $1 AND d.version = $2"
)

// Holds stores what is held for rollouts. Its methods are safe for concurrent use.
type Holds struct{ db query.DB }

// NewHolds returns what is held in a database.
func NewHolds(db query.DB) *Holds { return &Holds{db} }

var _ globals.HoldStore = (*Holds)(nil)

// Held implements globals.WaveStore.
func (t *Holds) Held(ctx context.Context, after string, limit int) ([]string, error) {
	return query.All(ctx, t.db, query.Value[string], HeldQuery, after, limit)
}

// Reports implements globals.WaveStore.
func (t *Holds) Reports(ctx context.Context, id string, clusterIDs []string) (all []globals.Report, err error) {
	if clusterIDs == nil {
		return query.All(ctx, t.db, Reports.Reader(), ReportsQuery, id)
	}
	err = query.Chunks(clusterIDs, func(args []any) error {
		part, err := query.All(ctx, t.db, Reports.Reader(), ReportsQuery+" AND s.cluster_id IN ("+query.Placeholders(2, len(args))+")", append([]any{id}, args...)...)
		all = append(all, part...)
		return err
	})
	return all, err
}

// Template implements globals.WaveStore.
func (t *Holds) Template(ctx context.Context, id string, version int64) (globals.Template, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.Internal, "the former template of global service %s is not stored any more; apply it again", id), Templates.Reader(), selectTemplate, id, version)
}

// EndHold implements globals.WaveStore.
func (t *Holds) EndHold(ctx context.Context, id string) error {
	_, err := t.db.Exec(ctx, "UPDATE global_services SET held_version = 0, held_context = '' WHERE id = $1", id)
	return err
}

// ForgetRollouts implements globals.WaveStore.
func (t *Holds) ForgetRollouts(ctx context.Context, subject, keep string) error {
	for _, statement := range []string{
		"DELETE FROM rollout_targets WHERE rollout_id IN (SELECT id FROM rollouts WHERE subject = $1 AND id <> $2)",
		"DELETE FROM rollouts WHERE subject = $1 AND id <> $2",
	} {
		if _, err := t.db.Exec(ctx, statement, subject, keep); err != nil {
			return err
		}
	}
	return nil
}
