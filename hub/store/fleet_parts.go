package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/store/query"
)

func listText[T any](list []T) (string, error) { return query.List(list) }

func listFromText[T any](text string, into *[]T) error { return query.FromList(text, into) }

// putSources makes the rows by which a service is found by its sources but the
// first, which stands in its own row.
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
