package scale

import (
	"context"
	"fmt"
	"maps"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// smallClusters and smallApps make the small profile: every app on every
// cluster.
var (
	smallClusters = []Member{
		{Name: "prod-eu", Tags: map[string]string{"tier": "prod", "region": "eu"}, Nodes: 9},
		{Name: "prod-us", Tags: map[string]string{"tier": "prod", "region": "us"}, Nodes: 12},
		{Name: "staging", Tags: map[string]string{"tier": "staging", "region": "eu"}, Nodes: 3},
	}
	smallApps = []string{"web", "api", "worker", "cache"}
)

func fillSmall(ctx context.Context, s *Seeded, _ SeedConfig) error {
	files := map[string]string{}
	for _, name := range smallApps {
		maps.Copy(files, app(name, "hello"))
	}
	if err := s.repository(ctx, "fleet", files); err != nil {
		return err
	}
	for _, m := range smallClusters {
		if _, err := s.join(ctx, m); err != nil {
			return err
		}
		for _, name := range smallApps {
			if err := s.service(ctx, m.Name, name, "fleet", "main", "apps/"+name); err != nil {
				return err
			}
		}
	}
	s.say("%d clusters registered, %d services declared; waiting until all are healthy", len(smallClusters), len(smallClusters)*len(smallApps))
	return s.until(ctx, healthy)
}

// healthy says why a service is not.
func healthy(one *hubv1.Service) error {
	if one.GetSync() != "Synced" || one.GetHealth() != "Healthy" {
		return fmt.Errorf("%s, %s: %s", one.GetSync(), one.GetHealth(), one.GetMessage())
	}
	return nil
}
