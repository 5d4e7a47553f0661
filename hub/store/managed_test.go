package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// TestEveryWriteOfARepositoryObeysItsManager does each write between all managers.
// The table of what is right is TestDecide of hub/managed.
func TestEveryWriteOfARepositoryObeysItsManager(t *testing.T) {
	managers := []managed.Manager{
		{}, {Tool: managed.CLI}, {Tool: managed.Console}, {Tool: managed.Terraform, ID: "default"}, {Tool: managed.Terraform, ID: "network"},
		{Tool: managed.Operator, ID: "0b7c/GitRepository.deployments.plural.sh/platform/a"}, {Tool: managed.Apply, ID: "fleet"}, {Tool: managed.Hub, ID: "global"},
	}
	writes := map[string]func(ctx context.Context, s *store.Store, r gitcache.Repository) error{
		"url": func(ctx context.Context, s *store.Store, r gitcache.Repository) error {
			r.URL += "-moved"
			_, err := s.UpdateRepository(ctx, r, nil)
			return err
		},
		"credentials": func(ctx context.Context, s *store.Store, r gitcache.Repository) error {
			_, err := s.UpdateRepository(ctx, r, &gitcache.Credentials{Password: "hunter2"})
			return err
		},
		"delete": func(ctx context.Context, s *store.Store, r gitcache.Repository) error {
			return s.DeleteRepository(ctx, r.ID)
		},
		"nothing": func(ctx context.Context, s *store.Store, r gitcache.Repository) error {
			_, err := s.UpdateRepository(ctx, r, nil)
			return err
		},
	}
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		n := 0
		for name, write := range writes {
			for _, current := range managers {
				for _, caller := range managers {
					for _, takeOver := range []bool{false, true} {
						n++
						id := fmt.Sprintf("repo_%d", n)
						before, err := s.CreateRepository(t.Context(), gitcache.Repository{ID: id, Name: id, Kind: record.Git, URL: "https://git.test/" + id, ManagedBy: current}, gitcache.Credentials{})
						if err != nil || before.ManagedBy != current {
							t.Fatalf("managed by %v, %v", before.ManagedBy, err)
						}
						next, refused := managed.Decide(current, caller, takeOver)
						if name == "nothing" && !takeOver {
							next, refused = current, nil
						}
						// A caller cannot write the manager itself.
						forged := before
						forged.ManagedBy = managed.Manager{Tool: managed.Hub, ID: "forged"}
						err = write(managed.WithCaller(t.Context(), managed.Caller{By: caller, TakeOver: takeOver}), s, forged)
						after, readErr := s.Repository(t.Context(), id)
						what := fmt.Sprintf("%s of %v by %v, take over %v", name, current, caller, takeOver)
						switch {
						case refused != nil:
							if !errcode.Is(err, errcode.Conflict) || readErr != nil || !cmp.Equal(before, after) {
								t.Errorf("%s: %v, %s", what, err, cmp.Diff(before, after))
							}
						case err != nil:
							t.Errorf("%s: %v", what, err)
						case name == "delete":
							if !errcode.Is(readErr, errcode.NotFound) {
								t.Errorf("%s: %v", what, readErr)
							}
						case readErr != nil || after.ManagedBy != next:
							t.Errorf("%s: managed by %v, %v; want %v", what, after.ManagedBy, readErr, next)
						}
					}
				}
			}
		}
	})
}
