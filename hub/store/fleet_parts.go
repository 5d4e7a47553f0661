package store

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet"
)

// listText is a list's JSON, empty for an empty list: almost all services have
// one source at their root and pay nothing for lists.
func listText[T any](list []T) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	return jsonText(list)
}

func listFromText[T any](text string, into *[]T) error {
	if text == "" {
		*into = nil
		return nil
	}
	return fromJSON(text, into)
}

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

// putRevisionParts makes the rows that keep a revision's tarballs but the
// first, which stands in the revision's own row.
func (s *Store) putRevisionParts(ctx context.Context, r fleet.Revision) error {
	for _, p := range r.Parts[min(1, len(r.Parts)):] {
		_, err := s.exec(ctx, `INSERT INTO revision_parts (service_id, number, digest, repository_id) VALUES ($1, $2, $3, $4)
			ON CONFLICT DO NOTHING`, r.ServiceID, r.Number, p.Digest, p.RepositoryID)
		if err != nil {
			return err
		}
	}
	return nil
}
