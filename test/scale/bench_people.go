package scale

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
)

// people call the hub's API for the benchmark, as its administrator.
type people struct {
	hubs  *hubs
	token string
	api   *sdk.Client
	hooks map[string]hook // by repository
}

func newPeople(ctx context.Context, h *hubs) (*people, error) {
	p := &people{hubs: h}
	text, err := os.ReadFile(filepath.Join(h.replicas[0].dir, "setup-token"))
	if err != nil {
		return nil, err
	}
	stranger, err := p.client()
	if err != nil {
		return nil, err
	}
	made, err := stranger.Sessions.Setup(ctx, connect.NewRequest(&hubv1.SetupRequest{SetupToken: strings.TrimSpace(string(text)), Email: "admin@example.test"}))
	if err != nil {
		return nil, err
	}
	p.token = made.Msg.GetSecret()
	p.api, err = p.client()
	return p, err
}

// client is one more client, with connections of its own.
func (p *people) client() (*sdk.Client, error) {
	return sdk.New(sdk.Config{URL: p.hubs.baseURL(), Token: p.token, CAPEM: p.hubs.ca, UserAgent: "bench"})
}

func (p *people) repositories(ctx context.Context, git *gitserver.Server) error {
	for r := range benchRepositories {
		name := place{repository: r}.repo()
		_, err := p.api.Repositories.Create(ctx, connect.NewRequest(&hubv1.CreateRepositoryRequest{Name: name, Type: "git", Url: git.URL(name)}))
		if err != nil {
			return fmt.Errorf("repository %s: %w", name, err)
		}
	}
	return nil
}

// bootstrap returns a token with which so many clusters register.
func (p *people) bootstrap(ctx context.Context, clusters int) (string, error) {
	made, err := p.api.Tokens.CreateBootstrap(ctx, connect.NewRequest(&hubv1.CreateBootstrapTokenRequest{
		NamePattern: "edge-*", MaxUses: int32(clusters), Approved: true,
	}))
	if err != nil {
		return "", err
	}
	return made.Msg.GetSecret(), nil
}

// services declares those of a plan, each with a configuration of its own, and
// waits until each folder in use has content.
func (p *people) services(ctx context.Context, plan plan, say func(string, ...any)) error {
	first := map[place]*hubv1.ServiceRef{}
	var next, done atomic.Int64
	began := time.Now()
	for c := range plan.clusters {
		for n, at := range plan.of(c) {
			if first[at] == nil {
				first[at] = serviceRef(playedName(c), hugeService(n))
			}
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for range declarers {
		client, err := p.client()
		if err != nil {
			return err
		}
		group.Go(func() error {
			for {
				c := int(next.Add(1)) - 1
				if c >= plan.clusters {
					return nil
				}
				if err := declareAll(groupCtx, client, c, plan.of(c)); err != nil {
					return err
				}
				if n := done.Add(1); n%500 == 0 {
					say("services of %d clusters declared, %.0f a second", n, float64(n)*float64(plan.services)/time.Since(began).Seconds())
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for at, ref := range first {
		err := eventually.Wait(ctx, settled, func() error {
			got, err := p.api.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
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
		name := hugeService(n)
		_, err := client.Services.Create(ctx, connect.NewRequest(&hubv1.CreateServiceRequest{
			Ref: serviceRef(playedName(cluster), name),
			Spec: &hubv1.ServiceSpec{
				Repository: at.repo(), Git: &hubv1.Git{Ref: "main", Folder: at.path()},
				Configuration: map[string]string{"cluster": playedName(cluster), "host": fmt.Sprintf("%s.%s.example.test", name, playedName(cluster))},
			},
		}))
		if err != nil {
			return fmt.Errorf("service %s/%s: %w", playedName(cluster), name, err)
		}
	}
	return nil
}

// ask makes a call that a person would make.
func (p *people) ask(ctx context.Context) error {
	_, err := p.api.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: serviceRef(playedName(0), hugeService(0))}))
	return err
}

// owned are the repositories of a replica.
func (p *people) owned(ctx context.Context, replica string) (names []string, err error) {
	list, err := p.api.Repositories.List(ctx, connect.NewRequest(&hubv1.ListRepositoriesRequest{}))
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
func (p *people) ownedBy(ctx context.Context, replica string, names []string) (n int, err error) {
	list, err := p.api.Repositories.List(ctx, connect.NewRequest(&hubv1.ListRepositoriesRequest{}))
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
