package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitcachetest"
	"github.com/axle-cd/axle/internal/digest"
)

func openBoth(t *testing.T, test func(t *testing.T, open func(t *testing.T) *Store)) {
	t.Helper()
	t.Parallel()
	for name, config := range Databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(t *testing.T) *Store {
				s, err := Open(t.Context(), config(t))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
				return s
			})
		})
	}
}

func TestGitCacheSuite(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		gitcachetest.RunStoreSuite(t, func(t *testing.T) gitcachetest.Fixture {
			s := open(t)
			users := 0
			run := func(t *testing.T, statement string, args ...any) {
				t.Helper()
				err := s.Write(t.Context(), func(ctx context.Context) error {
					_, err := s.exec(ctx, statement, args...)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			return gitcachetest.Fixture{
				Store: s,
				Refer: func(t *testing.T, sourceID string, by int) {
					if by < 0 {
						run(t, "DELETE FROM services WHERE source_id = $1", sourceID)
						return
					}
					users++
					run(t, "INSERT INTO services (id, name, source_id) VALUES ($1, $1, $2)", fmt.Sprint(users), sourceID)
				},
				Pin: func(t *testing.T, d digest.Digest, pinned bool) {
					if !pinned {
						run(t, "DELETE FROM superseded WHERE digest = $1", d)
						return
					}
					run(t, "INSERT INTO superseded (digest, at) VALUES ($1, {now})", d)
				},
				Announced: func(t *testing.T) int {
					rows, err := s.ChangesAfter(t.Context(), 0, 100_000)
					if err != nil {
						t.Fatal(err)
					}
					return len(rows)
				},
			}
		})
	})
}
