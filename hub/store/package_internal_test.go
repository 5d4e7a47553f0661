package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// A tarball of the hub's own goes a day after nothing names it, and whoever names it keeps it:
// those are looked at once a day, by an index.
func TestPackagesThatNothingNamesGo(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s, ctx := open(t), t.Context()
		s.clock = clock.NewManual(s.clock.Now())
		advance := func(by time.Duration) { s.clock.(*clock.Manual).Advance(by) }
		digest := func(name string) string { return "sha256:" + strings.Repeat("0", 64-len(name)) + name }
		uses := map[string]string{
			"content": "INSERT INTO contents (id, repository_id, source_revision, digest, entry, size, message, author, committed_at, parts, created_at) VALUES ('c1', '', '', $1, '', 0, '', '', 0, '', 0)",
			"part":    "INSERT INTO content_parts (content_id, digest, repository_id) VALUES ('c1', $1, '')",
			"source":  "INSERT INTO services (id, cluster_id, name, source_id) VALUES ('s1', 'cl', 'one', 'bundled:' || $1)",
			"sources": "INSERT INTO service_sources (service_id, source_id, repository_id) VALUES ('s1', 'bundled:' || $1, '')",
			"rollout": `INSERT INTO rollouts (id, subject, version, payload, previous_payload, plan, phase, actor, created_at, updated_at) VALUES ('r1', 'agents', '', '{}', '{"digest":"' || $1 || '"}', '', '', '', 0, 0)`,
			"pinned":  `INSERT INTO objects (id, kind, name, spec, revision, managed_by_tool, managed_by_id, declared_by, created_at, updated_at, pinned) VALUES ('o1', 'ClusterTemplate', 't', '{}', 1, '', '', '', 0, 0, '{"digest":"' || $1 || '"}')`,
			"origin": `INSERT INTO clusters (id, name, handle, project_id, tags, metadata, distro, kubernetes_version, agent_version, nodes, cluster_uid, registered_at, pending, message, poll_interval, pinged_at, created_at, updated_at, management_id, origin)
				VALUES ('cl', 'cl', 'cl', '', '', '', '', '', '', 0, '', 0, 0, '', 0, 0, 0, 0, 'm', '{"folder":"' || $1 || '"}')`,
		}
		put := func(names ...string) {
			t.Helper()
			for _, name := range names {
				if err := s.PutPackage(ctx, digest(name), []byte(name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range []string{"content", "part", "origin", "source", "sources", "rollout", "pinned"} {
			put(name)
			if err := s.Write(ctx, func(ctx context.Context) error { _, err := s.exec(ctx, uses[name], digest(name)); return err }); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		// A content that no revision has goes by itself.
		err := s.Write(ctx, func(ctx context.Context) error {
			_, err := s.exec(ctx, "INSERT INTO revisions (service_id, number, content_id, spec_version, spec_digest, cause, actor, created_at) VALUES ('s1', 1, 'c1', 1, '', '', '', 0)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 * packagePage {
			put("f" + strings.Repeat("a", i))
		}
		put("b")
		left := func(want int) {
			t.Helper()
			if err := s.Prune(ctx); err != nil {
				t.Fatal(err)
			}
			got, _, err := rowOf(ctx, s, value[int64], "SELECT count(*) FROM packages")
			if err != nil || got != int64(want) {
				t.Fatalf("%d packages are left, want %d; %v", got, want, err)
			}
		}
		all := len(uses) + 2*packagePage + 1
		advance(packagesKept - time.Minute)
		left(all)
		put("b") // again
		advance(2 * time.Minute)
		left(len(uses) + 1)
		for name := range uses {
			if data, err := s.Package(ctx, digest(name)); err != nil || string(data) != name {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		if n, err := s.DropPackages(ctx); err != nil || n != 0 {
			t.Errorf("%d were looked at again within a day, %v", n, err)
		}
		advance(packagesKept)
		left(len(uses))
		if _, err := s.Package(ctx, digest("b")); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("a package that nothing names: %v", err)
		}
		if plan := planOf(t, s, pagesOfPackages, []any{int64(1), packagePage}); !strings.Contains(plan, "packages_by_use") {
			t.Errorf("a page of packages:\n%s", plan)
		}
	})
}
