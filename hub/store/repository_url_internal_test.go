package store

import (
	"context"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
)

// A repository is found by its URL in any spelling: also one that another version of the
// hub wrote, or whose URL that version changed, before and after this one completed it.
func TestRepositoriesAreFoundByEverySpelling(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		create := func(r gitcache.Repository) {
			t.Helper()
			r.Name = r.ID
			if _, err := s.CreateRepository(t.Context(), r, gitcache.Credentials{}); err != nil {
				t.Fatal(err)
			}
		}
		older := func(statement string, args ...any) {
			t.Helper()
			if err := s.Write(t.Context(), func(ctx context.Context) error {
				_, err := s.exec(ctx, statement, args...)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		find := func(url string) string {
			t.Helper()
			all, err := s.RepositoriesNamed(t.Context(), nil, []string{url})
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range all {
				ids = append(ids, r.ID)
			}
			return strings.Join(ids, " ")
		}
		create(gitcache.Repository{ID: "https", Kind: gitcache.KindGit, URL: "https://git.example.test/Team/app.git", Written: "https://me@git.example.test/Team/app.git"})
		create(gitcache.Repository{ID: "ssh", Kind: gitcache.KindGit, URL: "ssh://deploy@git.example.test/Team/app"})
		create(gitcache.Repository{ID: "charts", Kind: gitcache.KindHelm, URL: "https://charts.example.test/app"})
		create(gitcache.Repository{ID: "moved", Kind: gitcache.KindGit, URL: "https://git.example.test/former", Written: "https://git.example.test/former/"})
		older("UPDATE repositories SET url = 'https://git.example.test/latter' WHERE id = 'moved'")
		older(`INSERT INTO repositories (id, name, project_id, kind, url, auth, options, credentials, health, generation, created_at, updated_at)
			SELECT 'old', 'old', project_id, kind, 'https://git.example.test/old.git', auth, options, credentials, health, generation, created_at, updated_at FROM repositories WHERE id = 'https'`)
		check := func() {
			t.Helper()
			for url, want := range map[string]string{
				"https://GIT.example.test:443/Team/app/": "https", "https://other@git.example.test/Team/app": "https", "https://git.example.test/team/app": "",
				"deploy@git.example.test:Team/app.git": "ssh", "git@git.example.test:Team/app.git": "",
				"https://charts.example.test/app/": "charts", "https://charts.example.test/app.git": "",
				"https://git.example.test/former": "", "https://git.example.test/latter.git": "moved", "https://git.example.test/old/": "old", "": "",
			} {
				if got := find(url); got != want {
					t.Errorf("%q finds %q, not %q", url, got, want)
				}
			}
			if r, err := s.Repository(t.Context(), "moved"); err != nil || r.Address() != "https://git.example.test/latter" {
				t.Errorf("its address is %q, %v", r.Address(), err)
			}
		}
		check()
		if n, err := s.CompleteURLs(t.Context(), 100); err != nil || n != 2 {
			t.Errorf("completed %d, %v", n, err)
		}
		check()
		if n, err := s.CompleteURLs(t.Context(), 100); err != nil || n != 0 {
			t.Errorf("completed %d again, %v", n, err)
		}
		if r, err := s.Repository(t.Context(), "https"); err != nil || r.Address() != "https://me@git.example.test/Team/app.git" {
			t.Errorf("its address is %q, %v", r.Address(), err)
		}
	})
}

// Neither the look-up by a URL nor the search for URLs of another version reads all
// repositories.
func TestURLsOfRepositoriesAreIndexed(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		for index, where := range map[string]string{"repositories_by_normal_url": "normal_url IN ($1)", "repositories_without_normal_url": "normal_of <> url AND '' = $1"} {
			if plan := planOf(t, s, "SELECT name FROM repositories WHERE "+where, []any{""}); !strings.Contains(plan, index) {
				t.Errorf("%s:\n%s", where, plan)
			}
		}
	})
}
