package seed

import (
	"context"
	"maps"

	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/people"
)

// smallClusters and smallApps make the small profile: every app on every
// cluster.
var (
	smallClusters = []scale.Member{
		{Name: "prod-eu", Tags: map[string]string{"tier": "prod", "region": "eu"}, Nodes: 9},
		{Name: "prod-us", Tags: map[string]string{"tier": "prod", "region": "us"}, Nodes: 12},
		{Name: "staging", Tags: map[string]string{"tier": "staging", "region": "eu"}, Nodes: 3},
	}
	smallApps = []string{"web", "api", "worker", "cache"}
)

func fillSmall(ctx context.Context, s *Seeded, _ Config) error {
	files := map[string]string{}
	for _, name := range smallApps {
		maps.Copy(files, people.App(name, "hello"))
	}
	if err := s.Repository(ctx, s.World.Git, "fleet", files); err != nil {
		return err
	}
	for _, m := range smallClusters {
		if _, err := s.join(ctx, m); err != nil {
			return err
		}
		for _, name := range smallApps {
			if err := s.Service(ctx, m.Name, name, "fleet", "main", "apps/"+name); err != nil {
				return err
			}
		}
	}
	s.say("%d clusters registered, %d services declared; waiting until all are healthy", len(smallClusters), len(smallClusters)*len(smallApps))
	return s.until(ctx, people.Healthy)
}
