package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/people"
)

// declarers declare services at once; each has a connection of its own.
const declarers = 16

// addRepositories adds those of the plan to the hub.
func (b *benching) addRepositories(ctx context.Context) error {
	for r := range benchRepositories {
		name := place{repository: r}.repo()
		if err := b.people.AddRepository(ctx, name, b.git.URL(name)); err != nil {
			return err
		}
	}
	return nil
}

// declareServices declares those of the plan, each with a configuration of its own, and
// waits until each folder in use has content.
func (b *benching) declareServices(ctx context.Context) error {
	first := map[place]*hubv1.ServiceRef{}
	var next, done atomic.Int64
	began := time.Now()
	for c := range b.plan.clusters {
		for n, at := range b.plan.of(c) {
			if first[at] == nil {
				first[at] = people.ServiceRef(scale.PlayedName(c), serviceName(n))
			}
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for range declarers {
		client, err := b.people.Client()
		if err != nil {
			return err
		}
		group.Go(func() error {
			for {
				c := int(next.Add(1)) - 1
				if c >= b.plan.clusters {
					return nil
				}
				if err := declareAll(groupCtx, client, c, b.plan.of(c)); err != nil {
					return err
				}
				if n := done.Add(1); n%500 == 0 {
					b.Progress("services of %d clusters declared, %.0f a second", n, float64(n)*float64(b.plan.services)/time.Since(began).Seconds())
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for at, ref := range first {
		err := eventually.Wait(ctx, people.Settled, func() error {
			got, err := b.people.API.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
			if err == nil && got.Msg.GetDesiredRevision() == "" {
				err = fmt.Errorf("it has no content: %s", got.Msg.GetMessage())
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s of %s: %w", at.path(), at.repo(), err)
		}
	}
	return nil
}

func declareAll(ctx context.Context, client *sdk.Client, cluster int, places []place) error {
	for n, at := range places {
		name := serviceName(n)
		_, err := client.Services.Create(ctx, connect.NewRequest(&hubv1.CreateServiceRequest{
			Ref: people.ServiceRef(scale.PlayedName(cluster), name),
			Spec: &hubv1.ServiceSpec{
				Repository: at.repo(), Git: &hubv1.Git{Ref: "main", Folder: at.path()},
				Configuration: map[string]string{"cluster": scale.PlayedName(cluster), "host": fmt.Sprintf("%s.%s.example.test", name, scale.PlayedName(cluster))},
			},
		}))
		if err != nil {
			return fmt.Errorf("service %s/%s: %w", scale.PlayedName(cluster), name, err)
		}
	}
	return nil
}

// serviceName is the name of a cluster's service number n.
func serviceName(n int) string { return fmt.Sprintf("service-%02d", n) }

// ask makes a call that a person would make.
func (b *benching) ask(ctx context.Context) error {
	_, err := b.people.API.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: people.ServiceRef(scale.PlayedName(0), serviceName(0))}))
	return err
}

// ownedOf returns the repositories of a replica.
func (b *benching) ownedOf(ctx context.Context, replica string) (names []string, err error) {
	list, err := b.people.API.Repositories.List(ctx, connect.NewRequest(&hubv1.ListRepositoriesRequest{}))
	if err != nil {
		return nil, err
	}
	for _, r := range list.Msg.GetRepositories() {
		if strings.HasPrefix(r.GetOwner(), replica) {
			names = append(names, r.GetName())
		}
	}
	return names, nil
}

// ownedBy counts those of some repositories that a replica owns, or nobody.
func (b *benching) ownedBy(ctx context.Context, replica string, names []string) (n int, err error) {
	list, err := b.people.API.Repositories.List(ctx, connect.NewRequest(&hubv1.ListRepositoriesRequest{}))
	if err != nil {
		return 0, err
	}
	for _, r := range list.Msg.GetRepositories() {
		if slices.Contains(names, r.GetName()) && (r.GetOwner() == "" || strings.HasPrefix(r.GetOwner(), replica)) {
			n++
		}
	}
	return n, nil
}
