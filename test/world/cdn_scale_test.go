package world_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// A fleet while hubs come and go.
var _ = add(map[string]scenario{
	"scale_1_3_5_2": {play: scaled, config: world.Config{Replicas: 1}, allow: world.Allowance{NoErrors: true}},
})

// fleetSize is 300 agents and 50 repositories when AXLE_SOAK is set, as make
// soak does; make test has a fifth of both, to fit its time.
func fleetSize() (agents, repos int) {
	if os.Getenv("AXLE_SOAK") != "" {
		return 300, 50
	}
	return 60, 10
}

// scaled goes from one replica to three, five and two while agents poll and
// every repository moves at each step. No agent sees more than its client gets
// over by itself, and no repository is cloned twice.
func scaled(s *cdn) {
	agents, repos := fleetSize()
	for i := range repos {
		s.upstream(fmt.Sprintf("repo-%d", i))
	}
	group, ctx := errgroup.WithContext(s.t.Context())
	group.SetLimit(16)
	for i := range agents {
		cluster := fmt.Sprintf("c%d", i)
		group.Go(func() error { return s.joins(ctx, cluster) })
	}
	s.must(group.Wait())
	version := 1
	s.everywhere(version)
	r := s.Replicated
	moves := func() {
		version++
		for i := range repos {
			s.push(fmt.Sprintf("repo-%d", i), "app", version)
		}
		s.everywhere(version)
	}
	for len(r.Hubs) < 3 {
		_, err := r.Add(s.t.Context())
		s.must(err)
	}
	moves()
	for len(r.Hubs) < 5 {
		_, err := r.Add(s.t.Context())
		s.must(err)
	}
	moves()
	for _, hub := range r.Hubs[2:] {
		s.must(hub.Stop(s.t.Context()))
	}
	moves()
}

// joins makes one cluster of the fleet with a service of one of the
// repositories. Hubs let only so many of one address register in a second.
func (s *cdn) joins(ctx context.Context, cluster string) error {
	_, repos := fleetSize()
	made, err := s.api.Clusters.Create(ctx, connect.NewRequest(&hubv1.CreateClusterRequest{Name: cluster}))
	if err != nil {
		return err
	}
	var n int
	if _, err := fmt.Sscanf(cluster, "c%d", &n); err != nil {
		return err
	}
	repo := fmt.Sprintf("repo-%d", n%repos)
	if _, err := s.api.Services.Create(ctx, connect.NewRequest(&hubv1.CreateServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: cluster, Name: "app"}, Spec: &hubv1.ServiceSpec{Repository: repo, Git: &hubv1.Git{Ref: "main", Folder: "app"}},
	})); err != nil {
		return err
	}
	var a *world.LightAgent
	if err := eventually.Wait(ctx, patience, func() (err error) {
		a, err = world.JoinLight(ctx, world.LightConfig{URL: s.Origin(), Token: made.Msg.GetBootstrapToken(), Dir: s.Dir, Interval: 2 * time.Second})
		return err
	}); err != nil {
		return fmt.Errorf("cluster %s: %w", cluster, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agents[cluster] = a
	s.from[cluster+"/app"] = repo + " app"
	s.run.Declared = append(s.run.Declared, cluster+"/app")
	s.group.Go(func() { a.Run(s.polling) })
	return nil
}

// everywhere waits until each agent has a version.
func (s *cdn) everywhere(version int) {
	s.t.Helper()
	for cluster := range s.agents {
		s.arrives(cluster+"/app", version)
	}
}
