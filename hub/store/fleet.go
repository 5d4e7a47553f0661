package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ fleet.Store = (*Store)(nil)

// Other stores read these rows too: the git cache's sources in use are those in
// services.source_id, and its pins are the contents of revisions.

const projectColumns = `SELECT p.id, p.name, p.description, p.created_at, p.limits, p.delivered,
	(SELECT count(*) FROM clusters c WHERE c.project_id = p.id),
	(SELECT count(*) FROM services s WHERE s.project_id = p.id) FROM projects p `

// projectRow selects a project without the counts.
const projectRow = "SELECT p.id, p.name, p.description, p.created_at, p.limits, p.delivered, 0, 0 FROM projects p "

func scanProject(row scan) (p fleet.Project, err error) {
	var limits, delivered string
	if err := row(&p.ID, &p.Name, &p.Description, &p.CreatedAt, &limits, &delivered, &p.Clusters, &p.Services); err != nil {
		return p, err
	}
	if err := fromJSON(limits, &p.Limits); err != nil {
		return p, err
	}
	return p, fromJSON(delivered, &p.Delivered)
}

// InsertProject implements fleet.Store.
func (s *Store) InsertProject(ctx context.Context, p fleet.Project) error {
	limits, err := limitsText(p.Limits)
	if err != nil {
		return err
	}
	delivered, err := limitsText(p.Delivered)
	if err != nil {
		return err
	}
	inserted, err := s.execOne(ctx, `INSERT INTO projects (id, name, description, created_at, limits, delivered)
		VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`, p.ID, p.Name, p.Description, p.CreatedAt, limits, delivered)
	if err == nil && !inserted {
		return errcode.New(errcode.Conflict, "project %s exists already", p.Name)
	}
	return err
}

// DeleteProject implements fleet.Store.
func (s *Store) DeleteProject(ctx context.Context, id string) error {
	_, err := s.exec(ctx, "DELETE FROM projects WHERE id = $1", id)
	return err
}

// ProjectByName implements fleet.Store.
func (s *Store) ProjectByName(ctx context.Context, name string, counted bool) (fleet.Project, error) {
	columns := projectRow
	if counted {
		columns = projectColumns
	}
	p, found, err := rowOf(ctx, s, scanProject, columns+"WHERE p.name = $1", name)
	if err == nil && !found {
		return p, errcode.New(errcode.NotFound, "project %.80q does not exist", name)
	}
	return p, err
}

// Projects implements fleet.Store.
func (s *Store) Projects(ctx context.Context) ([]fleet.Project, error) {
	return rowsOf(ctx, s, scanProject, projectColumns+"ORDER BY p.name")
}
