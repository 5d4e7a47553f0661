package gitcache_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestNamesOfRepositories checks that a repository has a name that the resource of
// Kubernetes may have, and that one of before there was a rule may be changed.
func TestNamesOfRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "one"})
	for _, name := range []string{"", " ", "<script>", "a\nb", "../x", "a\u202eb", "Fleet", "a/b", "/followed/0123456789abcdef", strings.Repeat("a", 254)} {
		_, err := w.cache.CreateRepository(t.Context(), gitcache.Repository{Name: name, URL: "https://git.example.test/a"}, gitcache.Credentials{})
		if !errcode.Is(err, errcode.Invalid) || !strings.HasPrefix(err.Error(), "name: ") {
			t.Errorf("%q: %v", name, err)
		}
	}
	old, err := w.store.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_old", Name: "<Old> one", Kind: record.Git, URL: "https://git.example.test/old"}, gitcache.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	old.Options.MaxBytes = 1 << 20
	if changed, err := w.cache.UpdateRepository(t.Context(), old, &gitcache.Credentials{}); err != nil || changed.Options.MaxBytes != 1<<20 {
		t.Errorf("a repository with an old name is changed to %+v, %v", changed, err)
	}
	old.Name = "<New> one"
	if _, err := w.cache.UpdateRepository(t.Context(), old, nil); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("it is renamed to another such name: %v", err)
	}
	old.Name = "new-one"
	if _, err := w.cache.UpdateRepository(t.Context(), old, nil); err != nil {
		t.Errorf("it is renamed to a name: %v", err)
	}
}

// followedName is the name that a repository followed for another one had when people
// could give such a name.
func followedName(parent string, kind gitcache.Kind, url string) string {
	sum := sha256.Sum256([]byte(parent + "\x00" + string(kind) + "\x00" + url))
	return "followed-" + hex.EncodeToString(sum[:8])
}

// TestAComputedNameIsNotAdopted registers the name that the hub computes for the chart
// repository of a dependency, with another URL: the content stays that of the URL in the
// chart.
func TestAComputedNameIsNotAdopted(t *testing.T) {
	t.Parallel()
	genuine, stranger := chartserver.Start(false), chartserver.Start(false)
	t.Cleanup(genuine.Close)
	t.Cleanup(stranger.Close)
	genuine.Publish(chartserver.Chart{Name: "redis", Version: "1.0.0", Files: map[string]string{"templates/cm.yaml": "genuine"}})
	stranger.Publish(chartserver.Chart{Name: "redis", Version: "1.0.0", Files: map[string]string{"templates/cm.yaml": "stranger"}})
	w := newWorld(t, map[string]gitserver.Content{
		"app/Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n- {name: redis, version: 1.0.0, repository: %q}\n", genuine.URL()),
	}, gitcache.ShortenGap)
	taken := gitcache.Repository{Name: followedName(w.repo.ID, gitcache.KindHelm, genuine.URL()), ProjectID: "prj_stranger", Kind: gitcache.KindHelm, URL: stranger.URL()}
	if _, err := w.cache.CreateRepository(t.Context(), taken, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	if text := w.content(w.head(w.track("main", "app"), good), "charts/redis/templates/cm.yaml"); text != "genuine" {
		t.Errorf("the chart is that of the %s", text)
	}
}

// TestWhatAnOlderHubFollowsIsFollowedOn checks that repositories with the former names are
// found by what follows them, unless somebody changed their URL.
func TestWhatAnOlderHubFollowsIsFollowedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "one"})
	const url = "https://charts.example.test/stable"
	for name, parent := range map[string]string{followedName("repo_parent", gitcache.KindHelm, url): "repo_parent", "charts-" + hexOf(url): ""} {
		old := gitcache.Repository{ID: "repo_" + name, Name: name, Kind: gitcache.KindHelm, URL: url, Options: gitcache.Options{Internal: true}}
		if _, err := w.store.CreateRepository(t.Context(), old, gitcache.Credentials{}); err != nil {
			t.Fatal(err)
		}
		follow := func() gitcache.Repository {
			r, err := w.cache.FollowByItself(t.Context(), parent, gitcache.Repository{Kind: gitcache.KindHelm, URL: url}, gitcache.Credentials{})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := follow(); r.ID != old.ID {
			t.Errorf("%s: followed as %s", name, r.ID)
		}
		old.URL = "https://stranger.example.test"
		if _, err := w.store.UpdateRepository(t.Context(), old, nil); err != nil {
			t.Fatal(err)
		}
		made := follow()
		if made.ID == old.ID || made.URL != url || !strings.HasPrefix(made.Name, "/") {
			t.Errorf("%s with another URL: followed as %+v", name, made)
		}
		if again := follow(); again.ID != made.ID {
			t.Errorf("followed as %s, and then as %s", made.ID, again.ID)
		}
		if _, err := w.cache.FindRepository(t.Context(), made.Name); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("people find %s: %v", made.Name, err)
		}
	}
}

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
