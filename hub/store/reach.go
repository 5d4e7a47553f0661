package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
)

// within returns the condition that a cluster c, and unless the service is empty
// a service s of that name, is within reach, with its arguments after args.
func within(r identity.Reach, cluster, service string, args []any) (string, []any) {
	project := []string{cluster + ".project_id"}
	if service != "" {
		project = append(project, service+".project_id")
	}
	var some []string
	in := func(column string, ids []string) {
		if len(ids) == 0 {
			return
		}
		some = append(some, column+" IN ("+placeholders(len(args)+1, len(ids))+")")
		for _, id := range ids {
			args = append(args, id)
		}
	}
	for _, column := range project {
		in(column, r.Projects)
	}
	in(cluster+".id", r.Clusters)
	if service != "" {
		in(service+".id", r.Services)
	}
	condition := "1 = 0"
	switch {
	case r.Everywhere:
		condition = "1 = 1"
	case len(some) > 0:
		condition = "(" + strings.Join(some, " OR ") + ")"
	}
	if !r.Administrator {
		for _, column := range project {
			condition += " AND NOT " + forAdministrators(column)
		}
	}
	if r.Only != "" {
		args = append(args, r.Only)
		var only []string
		for _, column := range project {
			only = append(only, fmt.Sprintf("%s = $%d", column, len(args)))
		}
		condition += " AND (" + strings.Join(only, " OR ") + ")"
	}
	return condition, args
}

// forAdministrators is the condition that a project is one of administrators only.
func forAdministrators(project string) string {
	return fmt.Sprintf("substr(COALESCE(%s, ''), 1, %d) = '%s'", project, len(identity.AdministratorsProject), identity.AdministratorsProject)
}

// servicesWithin returns a query of the ids of services within reach.
func servicesWithin(r identity.Reach, args []any) (string, []any) {
	condition, args := within(r, "wc", "ws", args)
	return "SELECT ws.id FROM services ws LEFT JOIN clusters wc ON wc.id = ws.cluster_id WHERE " + condition, args
}

// CountsWithin implements fleet.ReachReader.
func (s *Store) CountsWithin(ctx context.Context, r identity.Reach) (map[string]fleet.Extent, error) {
	counts := map[string]fleet.Extent{}
	condition, args := within(r, "c", "", nil)
	err := s.each(ctx, "SELECT c.project_id, count(*) FROM clusters c WHERE "+condition+" GROUP BY c.project_id", args, func(row scan) error {
		var id string
		var n int
		if err := row(&id, &n); err != nil {
			return err
		}
		counts[id] = fleet.Extent{Clusters: n}
		return nil
	})
	if err != nil {
		return nil, err
	}
	condition, args = within(r, "c", "s", nil)
	err = s.each(ctx, "SELECT s.project_id, count(*) FROM services s LEFT JOIN clusters c ON c.id = s.cluster_id WHERE "+condition+" GROUP BY s.project_id", args, func(row scan) error {
		var id string
		var n int
		if err := row(&id, &n); err != nil {
			return err
		}
		of := counts[id]
		of.Services = n
		counts[id] = of
		return nil
	})
	return counts, err
}

// counted reads ids with counts.
func (s *Store) counted(ctx context.Context, query string, args ...any) (map[string]int, error) {
	counts := map[string]int{}
	err := s.each(ctx, query, args, func(row scan) error {
		var id string
		var n int
		if err := row(&id, &n); err != nil {
			return err
		}
		counts[id] = n
		return nil
	})
	return counts, err
}

// UsesWithin counts, by name, the services within reach that use each context
// or each name of outputs.
func (s *Store) UsesWithin(ctx context.Context, kind string, r identity.Reach) (map[string]int, error) {
	services, args := servicesWithin(r, []any{kind})
	return s.counted(ctx, "SELECT name, count(*) FROM config_uses WHERE kind = $1 AND service_id IN ("+services+") GROUP BY name", args...)
}
