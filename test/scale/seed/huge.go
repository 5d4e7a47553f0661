package seed

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/people"
)

const (
	hugeClusters = 10_000
	hugeServices = 100_000
	// hugeApps are the folders that services are made from; the fleets of
	// those who have thousands of clusters run the same on most of them.
	hugeApps = 40
	// declarers declare services at once; each has a connection of its own.
	declarers = 16
)

func fillHuge(ctx context.Context, s *Seeded, cfg Config) error {
	clusters, services := cfg.Clusters, cfg.Services
	if clusters <= 0 {
		clusters = hugeClusters
	}
	if services <= 0 {
		services = clusters * (hugeServices / hugeClusters)
	}
	files := map[string]string{}
	for n := range hugeApps {
		maps.Copy(files, people.App(hugeApp(n), "hello"))
	}
	if err := s.Repository(ctx, s.World.Git, "fleet", files); err != nil {
		return err
	}
	members, err := s.hugeMembers(ctx, clusters)
	if err != nil {
		return err
	}
	if err := s.timed("clusters registered", clusters, func(done func(int)) error { return s.Fleet.JoinAll(ctx, members, done) }); err != nil {
		return err
	}
	if err := s.timed("services declared", services, func(done func(int)) error { return s.hugeServices(ctx, members, services, done) }); err != nil {
		return err
	}
	// Every folder that is in use has content once those of the first and the
	// last cluster do.
	for n := range min(services, hugeApps) {
		if err := s.Produced(ctx, members[n%clusters].Name, hugeService(n/clusters), ""); err != nil {
			return err
		}
	}
	return s.timed("clusters polled, took their services and reported", clusters, func(done func(int)) error { return s.Fleet.PassAll(ctx, done) })
}

func hugeApp(n int) string     { return fmt.Sprintf("app-%02d", n%hugeApps) }
func hugeService(n int) string { return fmt.Sprintf("service-%02d", n) }

// hugeMembers are the clusters, with one bootstrap token for all.
func (s *Seeded) hugeMembers(ctx context.Context, clusters int) ([]scale.Member, error) {
	made, err := s.API.Tokens.CreateBootstrap(ctx, connect.NewRequest(&hubv1.CreateBootstrapTokenRequest{
		NamePattern: "edge-*", AllowedTags: map[string]string{"site": "*", "tier": "*"}, MaxUses: int32(clusters), Approved: true,
	}))
	if err != nil {
		return nil, err
	}
	members := make([]scale.Member, clusters)
	for n := range members {
		members[n] = scale.Member{
			Name: fmt.Sprintf("edge-%05d", n), Token: made.Msg.GetSecret(),
			Tags: map[string]string{"site": fmt.Sprintf("site-%03d", n/scale.SiteClusters), "tier": []string{"prod", "prod", "prod", "staging"}[n%4]},
		}
	}
	return members, nil
}

// hugeServices declares services, the same number on each cluster.
func (s *Seeded) hugeServices(ctx context.Context, members []scale.Member, services int, done func(int)) error {
	group, ctx := errgroup.WithContext(ctx)
	var next, finished atomic.Int64
	for range declarers {
		client, err := s.Client()
		if err != nil {
			return err
		}
		group.Go(func() error {
			for {
				n := int(next.Add(1)) - 1
				if n >= services {
					return nil
				}
				if err := declare(ctx, client, members[n%len(members)].Name, n, len(members)); err != nil {
					return err
				}
				done(int(finished.Add(1)))
			}
		})
	}
	return group.Wait()
}

func declare(ctx context.Context, client *sdk.Client, cluster string, n, clusters int) error {
	name := hugeService(n / clusters)
	_, err := client.Services.Create(ctx, connect.NewRequest(&hubv1.CreateServiceRequest{
		Ref: people.ServiceRef(cluster, name), Spec: &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "apps/" + hugeApp(n)}},
	}))
	if err != nil {
		return fmt.Errorf("service %s/%s: %w", cluster, name, err)
	}
	return nil
}

// timed runs a step with a line of progress every two seconds and its total.
func (s *Seeded) timed(what string, total int, step func(done func(int)) error) error {
	began := time.Now()
	var last atomic.Int64
	err := step(func(done int) {
		now, before := int64(time.Since(began)/(2*time.Second)), last.Load()
		if now > before && last.CompareAndSwap(before, now) {
			s.say("%d of %d %s", done, total, what)
		}
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	s.say("%d %s in %s, %.0f a second", total, what, took.Round(100*time.Millisecond), float64(total)/took.Seconds())
	return nil
}
