package gitcache_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/vendored"
	"github.com/axle-cd/axle/test/gitserver"
)

func saying(words string) func(gitcache.Head) error {
	return func(h gitcache.Head) error {
		if !strings.Contains(h.Error, words) {
			return fmt.Errorf("error is %q, want %q", h.Error, words)
		}
		return nil
	}
}

// TestTagNamedMainIsRefused checks that somebody who may push tags cannot
// decide what the followers of a branch run, which git's own lookup would
// allow.
func TestTagNamedMainIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "good"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	before := w.head(s, good)
	evil, err := w.git.CommitOn(t.Context(), repoName, "", "evil", map[string]gitserver.Content{"a/cm.yaml": "evil"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.git.Tag(t.Context(), repoName, "main", evil); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	h := w.head(s, saying("both a branch and a tag"))
	if h.Digest != before.Digest || h.ErrorCode != errcode.Unprocessable || h.ErrorSince.IsZero() {
		t.Errorf("head is %+v", h)
	}
	// Written in full, both work; this is the sibling in which the tag wins.
	if got := w.content(w.head(w.track("refs/heads/main", "a"), good), "cm.yaml"); got != "good" {
		t.Errorf("the branch has %q", got)
	}
	if got := w.content(w.head(w.track("refs/tags/main", "a"), good), "cm.yaml"); got != "evil" {
		t.Errorf("the tag has %q", got)
	}
	// The tag goes, the source heals.
	if err := w.git.DeleteRef(t.Context(), repoName, "refs/tags/main"); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	if h := w.head(s, good); h.Digest != before.Digest || !h.ErrorSince.IsZero() {
		t.Errorf("healed head is %+v", h)
	}
}

// TestRelativeBaseOutsideFolder checks that a folder's content includes what it
// refers to, and only that.
func TestRelativeBaseOutsideFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{
		"deploy/overlays/prod/kustomization.yaml": "resources: [../../base]\ncomponents:\n- ../../components/tls\npatches:\n- path: ../shared/patch.yaml\n" +
			"configMapGenerator:\n- name: x\n  files: [conf=../../../files/app.conf]\n",
		"deploy/overlays/prod/more/deep.yaml":           "kind: A\n",
		"deploy/overlays/prod/link":                     gitserver.Link("../../../linked"),
		"deploy/overlays/shared/patch.yaml":             "patch",
		"deploy/overlays/shared/unused.yaml":            "unused",
		"deploy/overlays/dev/kustomization.yaml":        "resources: [../../base]\n",
		"deploy/base/kustomization.yaml":                "resources: [cm.yaml, ../crds]\n",
		"deploy/base/cm.yaml":                           "kind: ConfigMap\n",
		"deploy/crds/kustomization.yaml":                "resources: [crd.yaml]\n",
		"deploy/crds/crd.yaml":                          "kind: CustomResourceDefinition\n",
		"deploy/components/tls/kustomization.yaml":      "kind: Component\n",
		"deploy/components/unused/kustomization.yaml":   "kind: Component\n",
		"files/app.conf":                                "conf",
		"files/unused.conf":                             "unused",
		"linked/x":                                      "x",
		"unrelated/y":                                   "y",
		"charts/app/Chart.yaml":                         "name: app\ndependencies:\n- name: lib\n  repository: file://../lib\n",
		"charts/lib/Chart.yaml":                         "name: lib\n",
		"charts/other/Chart.yaml":                       "name: other\n",
		"alone/cm.yaml":                                 "kind: ConfigMap\n",
		"away/kustomization.yaml":                       "resources: [../../outside]\n",
		"escape/link":                                   gitserver.Link("../../outside"),
		"escape/cm.yaml":                                "kind: ConfigMap\n",
		"escape/through":                                gitserver.Link("../out"),
		"escape/inside":                                 gitserver.Link("../unrelated/y"),
		"out":                                           gitserver.Link("/etc"),
		"through/kustomization.yaml":                    "resources: [../via/deep]\n",
		"via":                                           gitserver.Link("deploy/crds"),
		"deploy/crds/deep/kustomization.yaml":           "resources: []\n",
		"deploy/overlays/prod/charts/sub/values.schema": "s",
	}, gitcache.ShortenGap)
	tests := map[string]struct {
		folder string
		files  []string
		entry  string
		want   []string
	}{
		"overlay": {"deploy/overlays/prod", nil, "deploy/overlays/prod", []string{
			"deploy/base/cm.yaml", "deploy/base/kustomization.yaml", "deploy/components/tls/kustomization.yaml", "deploy/crds/crd.yaml",
			"deploy/crds/deep/kustomization.yaml", "deploy/crds/kustomization.yaml", "deploy/overlays/prod/charts/sub/values.schema", "deploy/overlays/prod/kustomization.yaml",
			"deploy/overlays/prod/link", "deploy/overlays/prod/more/deep.yaml", "deploy/overlays/shared/patch.yaml", "files/app.conf", "linked/x"}},
		"shallower":      {"deploy/overlays/dev", nil, "overlays/dev", []string{"base/cm.yaml", "base/kustomization.yaml", "crds/crd.yaml", "crds/deep/kustomization.yaml", "crds/kustomization.yaml", "overlays/dev/kustomization.yaml"}},
		"chart":          {"charts/app", nil, "app", []string{"app/Chart.yaml", "lib/Chart.yaml"}},
		"nothing needed": {"alone", nil, "", []string{"cm.yaml"}},
		"extra file":     {"alone", []string{"files/app.conf"}, "alone", []string{"alone/cm.yaml", "files/app.conf"}},
		"not there":      {"away", nil, "", []string{"kustomization.yaml"}},
		"through a link": {"through", nil, "through", []string{"deploy/crds/deep/kustomization.yaml", "through/kustomization.yaml", "via"}},
		"a linked dir":   {"via", nil, "via", []string{"deploy/crds/crd.yaml", "deploy/crds/deep/kustomization.yaml", "deploy/crds/kustomization.yaml", "via"}},
	}
	for name, tt := range tests {
		h := w.head(w.track("main", tt.folder, tt.files...), good)
		if h.Entry != tt.entry {
			t.Errorf("%s: entry %q, want %q", name, h.Entry, tt.entry)
		}
		if got := list(t, w.unpack(h.Digest)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: the tarball holds\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
	// Links that lead out of the repository, to nothing or in a ring are left out with their
	// names, so that only who reads them fails.
	escape := w.head(w.track("main", "escape"), good)
	if diff := cmp.Diff([]string{vendored.Map, "escape/cm.yaml", "escape/inside", "escape/through", "unrelated/y"}, list(t, w.unpack(escape.Digest))); diff != "" {
		t.Error(diff)
	}
	got, err := os.ReadFile(filepath.Join(w.unpack(escape.Digest), vendored.Map))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"path: escape/link\n", "path: out\n", "../../outside", "which is outside the content", "absolute path"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the map of what is left out lacks %q: %s", want, got)
		}
	}

	// A change in the base changes the overlay; one beside it does not. A cache
	// that only checked the folder would miss the first.
	overlay := w.track("main", "deploy/overlays/dev")
	before := w.head(overlay, good)
	w.commit("main", map[string]gitserver.Content{"deploy/components/unused/x": "1", "files/unused.conf": "2"})
	w.mustRefresh()
	if h := w.head(overlay, good); h != before {
		t.Errorf("a change elsewhere changed the head to %+v", h)
	}
	id := w.commit("main", map[string]gitserver.Content{"deploy/base/cm.yaml": "kind: Secret\n"})
	w.mustRefresh()
	if h := w.head(overlay, at(id)); h.Digest == before.Digest {
		t.Error("a change in the base did not change the digest")
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestUnrelatedCommitCostsNothing checks that a commit which does not touch a
// folder writes no head, announces nothing and builds nothing.
func TestUnrelatedCommitCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1", "b/cm.yaml": "1", "typo/cm.yaml": "1"}, gitcache.ShortenGap)
	a, b := w.track("main", "a"), w.track("main", "b")
	gone := w.track("main", "nowhere")
	before := w.head(a, good)
	w.head(b, good)
	w.head(gone, bad)
	w.mustRefresh() // settles health
	stored, announced, writes := files(t, w), len(w.store.Feed()), w.store.Calls("WriteHeads")
	for i := range 3 {
		w.commit("main", map[string]gitserver.Content{"README.md": fmt.Sprint(i), "c/x": fmt.Sprint(i)})
		w.mustRefresh()
	}
	if fetches := w.git.Count(repoName, gitserver.Fetch); fetches < 2 {
		t.Fatalf("the commits were not fetched (%d)", fetches)
	}
	if h := w.head(a, good); h != before {
		t.Errorf("the head changed to %+v", h)
	}
	if n := w.store.Calls("WriteHeads") - writes; n != 0 {
		t.Errorf("heads were written %d times", n)
	}
	if n := len(w.store.Feed()) - announced; n != 0 {
		t.Errorf("%d changes were announced: %v", n, w.store.Feed()[announced:])
	}
	if now := files(t, w); !slices.Equal(now, stored) {
		t.Errorf("tarballs were built: %v, before %v", now, stored)
	}
	// A commit that touches one folder is seen to cost, once.
	id := w.commit("main", map[string]gitserver.Content{"a/cm.yaml": "2"})
	w.mustRefresh()
	w.head(a, at(id))
	if n := w.store.Calls("WriteHeads") - writes; n != 1 {
		t.Errorf("a change of one folder wrote heads %d times", n)
	}
	if n := len(files(t, w)) - len(stored); n != 1 {
		t.Errorf("a change of one folder built %d tarballs", n)
	}
	if got := len(w.store.Feed()) - announced; got != 1 {
		t.Errorf("a change of one folder announced %d", got)
	}
}

func files(t *testing.T, w *world) []string { return list(t, gitcache.Stored(w.cache)) }

func TestSourceErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"apps/web/cm.yaml": "1", "apps/api/cm.yaml": "1", "file": "x",
		"clash/a": "1", "clash/A": "2", "abs/l": gitserver.Link("/etc"), "hops/l": gitserver.Link("l"),
		"newline\nname/cm.yaml": "1", "-x/--y": "1", "odd/new\nline": "1", "ünï çode/ü.yaml": "1"}, gitcache.ShortenGap)
	for name, tt := range map[string]struct {
		ref, folder string
		files       []string
		want        string
	}{
		"unknown ref":     {"mian", "apps", nil, `ref "mian" is not a branch, tag or full commit id of the repository; it has the branches: main`},
		"short id":        {"abcdef1", "apps", nil, "is not a branch, tag or full commit id"},
		"expression":      {"main~1", "apps", nil, "is not a branch, tag or full commit id"},
		"ref with a dash": {"--upload-pack=x", "apps", nil, "is not a branch"},
		"full unknown":    {"refs/heads/nope", "apps", nil, "is not a branch"},
		"unknown commit":  {strings.Repeat("ab", 20), "apps", nil, "is not in the repository"},
		"unknown folder":  {"main", "apps/wbe", nil, `folder "apps/wbe" does not exist or is empty; folders in "apps": api, web`},
		"unknown parent":  {"main", "aps/x/y", nil, `folders in the root:`},
		"a file":          {"main", "file", nil, `"file" is a file; give the folder that contains it`},
		"missing file":    {"main", "apps", []string{"values.yaml"}, `file "values.yaml" does not exist`},
		"case clash":      {"main", "clash", nil, "differs from \"A\" in case only"},
		"absolute link":   {"main", "abs/l", nil, "\"abs/l\" is a link to \"/etc\", which is outside the repository"},
		"a file's link":   {"main", "apps", []string{"abs/l/passwd"}, "outside the repository"},
		"endless link":    {"main", "hops/l", nil, "more than 40 links"},
		"newline inside":  {"main", "odd", nil, "control character"},
		"newline itself":  {"main", "apps\nweb", nil, "does not exist"},
	} {
		h := w.head(w.track(tt.ref, tt.folder, tt.files...), bad)
		if !strings.Contains(h.Error, tt.want) || h.ErrorCode != errcode.Unprocessable || h.Digest != "" {
			t.Errorf("%s: error %q (%s), want %q", name, h.Error, h.ErrorCode, tt.want)
		}
		resolved, err := gitcache.NewSource(w.repo.ID, tt.ref, tt.folder, tt.files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.cache.Resolve(t.Context(), resolved); err == nil || errcode.Message(err) != h.Error {
			t.Errorf("%s: Resolve says %v, the head %q", name, err, h.Error)
		}
	}
	// Odd names that are no fault work beside those, and get their own bytes.
	w.head(w.track("main", "newline\nname"), good)
	if got := w.content(w.head(w.track("main", "-x"), good), "--y"); got != "1" {
		t.Errorf("-x/--y is %q", got)
	}
	w.head(w.track("main", "ünï çode"), good)
	if err := w.git.SetRef(t.Context(), repoName, "refs/heads/-x", w.commit("plain", map[string]gitserver.Content{"apps/web/cm.yaml": "dash"})); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	if got := w.content(w.head(w.track("-x", "apps/web"), good), "cm.yaml"); got != "dash" {
		t.Errorf("branch -x has %q", got)
	}
	for _, tt := range [][2]string{{"", "a"}, {"main", "../a"}, {"main", "a/../../b"}} {
		if _, err := gitcache.NewSource(w.repo.ID, tt[0], tt[1], nil); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("source %v: %v", tt, err)
		}
	}
}

// TestForcePushKeepsTheOldCommit checks that a rollback finds its bytes
// although upstream has dropped the commit, the tarball was evicted and the
// mirror was garbage collected.
func TestForcePushKeepsTheOldCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "old"}, gitcache.ShortenGap)
	s := w.track("main", "a")
	old := w.head(s, good)
	rewritten, err := w.git.CommitOn(t.Context(), repoName, "", "rewritten", map[string]gitserver.Content{"a/cm.yaml": "new"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.git.SetRef(t.Context(), repoName, "refs/heads/main", rewritten); err != nil {
		t.Fatal(err)
	}
	if err := w.git.Collect(t.Context(), repoName); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	w.head(s, at(rewritten))
	w.stop()
	if err := os.RemoveAll(filepath.Join(w.dir, "tarballs")); err != nil {
		t.Fatal(err)
	}
	mirror := gitcache.Mirror(w.cache, w.repo.ID)
	gc(t, mirror)
	w.start(gitcache.ShortenGap)
	eventually.For(t, patience, "the old content", func() error {
		f, err := w.cache.Fetch(t.Context(), old.Digest)
		if err == nil {
			err = f.Close()
		}
		return err
	})
	if got := w.content(old, "cm.yaml"); got != "old" {
		t.Errorf("content is %q", got)
	}
	// Without the kept ref the same collection loses it.
	w.stop()
	run(t, mirror, "update-ref", "-d", "refs/axle/keep/"+old.Revision)
	gc(t, mirror)
	if err := os.RemoveAll(filepath.Join(w.dir, "tarballs")); err != nil {
		t.Fatal(err)
	}
	w.start(gitcache.ShortenGap)
	w.mustRefresh()
	// The first request triggers a check of the mirror.
	eventually.For(t, patience, "the words for what is nowhere", func() error {
		if _, err := w.cache.Fetch(context.WithoutCancel(t.Context()), old.Digest); !errcode.Is(err, errcode.Unprocessable) {
			return fmt.Errorf("after the ref is gone: %w", err)
		}
		return nil
	})
}
