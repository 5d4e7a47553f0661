package gitcache_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/vendored"
	"github.com/axle-cd/axle/test/gitserver"
)

// with follows a folder with options.
func (w *world) with(ref, folder string, o record.SourceOptions) gitcache.Source {
	w.t.Helper()
	s, err := gitcache.Source{RepositoryID: w.repo.ID, Ref: ref, Folder: folder, Options: o}.Settle(record.Git)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.cache.Track(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.cache.Changed(w.repo.ID)
	return s
}

// other makes another repository on the same server.
func (w *world) other(name string, files map[string]gitserver.Content) string {
	w.t.Helper()
	if err := w.git.Create(w.t.Context(), name); err != nil {
		w.t.Fatal(err)
	}
	return w.on(name, files)
}

func (w *world) on(name string, files map[string]gitserver.Content) string {
	w.t.Helper()
	id, err := w.git.Commit(w.t.Context(), name, "main", "change", files)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// list returns the paths of a head's tarball.
func (w *world) list(h gitcache.Head) (out []string) {
	w.t.Helper()
	dir := w.unpack(h.Digest)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// link commits a gitlink in a place of the repository.
func (w *world) link(repo, branch, name, commit string, files map[string]gitserver.Content) string {
	w.t.Helper()
	id, err := w.git.CommitLinks(w.t.Context(), repo, branch, "link", files, map[string]string{name: commit})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// forget drops all stored tarballs, so that each is built again.
func (w *world) forget() {
	w.t.Helper()
	w.stop()
	if err := os.RemoveAll(filepath.Join(w.dir, "tarballs")); err != nil {
		w.t.Fatal(err)
	}
	w.start(gitcache.ShortenGap)
}

// TestSubmodules checks that submodules, including nested ones, are placed at
// their pinned commits, only when they are requested, and that a missing one
// keeps the old content.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	inner := w.other("team/inner", map[string]gitserver.Content{"deep.yaml": "deep"})
	w.other("team/lib", map[string]gitserver.Content{"base/lib.yaml": "one", ".gitmodules": "[submodule \"i\"]\n\tpath = inner\n\turl = ../inner.git\n"})
	lib := w.link("team/lib", "main", "inner", inner, nil)
	w.on("team/lib", map[string]gitserver.Content{"base/lib.yaml": "moved on"})
	w.link(repoName, "main", "a/lib", lib, map[string]gitserver.Content{
		"a/kustomization.yaml": "resources: [lib/base]\n", "b/kustomization.yaml": "resources: [../a/lib/base]\n",
		// A section that was left behind by a submodule that is gone, and a slash at the end, are what people have.
		".gitmodules": "[submodule \"gone\"]\n\tpath = a/gone\n\turl = ../gone.git\n[submodule \"l\"]\n\tpath = a/lib/\n\turl = ../lib.git/\n"})
	w.mustRefresh()
	plain := w.head(w.track("main", "a"), good)
	if diff := cmp.Diff([]string{vendored.Map, "cm.yaml", "kustomization.yaml"}, w.list(plain)); diff != "" {
		t.Errorf("without the option (-want +got):\n%s", diff)
	}
	if got := w.content(plain, vendored.Map); !strings.Contains(got, "path: lib\n") || !strings.Contains(got, "../lib.git") || !strings.Contains(got, "set git.submodules") {
		t.Errorf("the map does not name the submodule that is left out: %s", got)
	}
	s := w.with("main", "a", record.SourceOptions{Submodules: true})
	h := w.head(s, good)
	want := []string{"cm.yaml", "kustomization.yaml", "lib/.gitmodules", "lib/base/lib.yaml", "lib/inner/deep.yaml"}
	if diff := cmp.Diff(want, w.list(h)); diff != "" {
		t.Errorf("with submodules (-want +got):\n%s", diff)
	}
	if got := w.content(h, "lib/base/lib.yaml"); got != "one" {
		t.Errorf("the submodule has %q, want the pinned commit's", got)
	}
	// A folder may refer into a submodule, or lie in one.
	if got := w.content(w.head(w.with("main", "b", record.SourceOptions{Submodules: true}), good), "../a/lib/base/lib.yaml"); got != "one" {
		t.Errorf("from beside: %q", got)
	}
	if got := w.content(w.head(w.with("main", "a/lib/base", record.SourceOptions{Submodules: true}), good), "lib.yaml"); got != "one" {
		t.Errorf("inside: %q", got)
	}
	// Any owner makes the same again.
	w.forget()
	w.mustRefresh()
	if diff := cmp.Diff(want, w.list(h)); diff != "" {
		t.Errorf("made again (-want +got):\n%s", diff)
	}
	repos, err := w.cache.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range repos {
		if r.ID != w.repo.ID && (!r.Options.Internal || r.ProjectID != w.repo.ProjectID) {
			t.Errorf("repository %+v is not marked", r)
		}
	}
	// A commit that does not exist is an error of the source, and heals.
	w.link(repoName, "main", "a/lib", strings.Repeat("ab", 20), nil)
	w.mustRefresh()
	if broken := w.head(s, saying(`submodule "a/lib"`)); broken.Digest != h.Digest {
		t.Errorf("content is %s, want the old %s", broken.Digest, h.Digest)
	}
	w.link(repoName, "main", "a/lib", lib, map[string]gitserver.Content{"a/cm.yaml": "2"})
	w.mustRefresh()
	w.head(s, good)
}

// TestSubmodulesRefused checks the rules for URLs in a tree.
func TestSubmodulesRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	commit := strings.Repeat("12", 20)
	tests := map[string]struct{ modules, want string }{
		"no-entry": {"", "has no URL in .gitmodules"},
		"file":     {"file:///etc", "scheme"},
		"command":  {"ext::id", "scheme"},
		"escape":   {"../../../../x", "leaves the server"},
		"ssh":      {"git@git.example.test:a/b", "register it in the same project"},
		"password": {"https://u:p@git.example.test/a", "holds a password"},
	}
	for name, tt := range tests {
		text := "[submodule \"x\"]\n\tpath = a/x\n\turl = " + tt.modules + "\n"
		w.link(repoName, name, "a/x", commit, map[string]gitserver.Content{".gitmodules": text})
	}
	w.mustRefresh()
	for name, tt := range tests {
		h := w.head(w.with(name, "a", record.SourceOptions{Submodules: true}), bad)
		if !strings.Contains(h.Error, tt.want) || h.ErrorCode != errcode.Unprocessable {
			t.Errorf("%s: error %q (%s), want %q", name, h.Error, h.ErrorCode, tt.want)
		}
	}
}

// TestLFS checks that pointers are replaced with verified files, according to
// the attributes on the way, and that files survive an outage of upstream.
func TestLFS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	pointer, err := w.git.PutLFS(repoName, []byte("the real bytes"))
	if err != nil {
		t.Fatal(err)
	}
	w.commit("main", map[string]gitserver.Content{
		".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a/big.bin": strings.ReplaceAll(pointer, "\n", "\r\n"), "a/sub/also.bin": pointer, "a/plain.txt": pointer,
		"a/sub/not.bin": "no pointer at all", "a/raw/.gitattributes": "*.bin -filter\n", "a/raw/x.bin": pointer})
	w.mustRefresh()
	if got := w.content(w.head(w.track("main", "a"), good), "sub/also.bin"); got != pointer {
		t.Errorf("without the option: %q", got)
	}
	s := w.with("main", "a", record.SourceOptions{LFS: true})
	h := w.head(s, good)
	for file, want := range map[string]string{"big.bin": "the real bytes", "sub/also.bin": "the real bytes", "plain.txt": pointer, "sub/not.bin": "no pointer at all", "raw/x.bin": pointer} {
		if got := w.content(h, file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	if n := w.git.Count(repoName, gitserver.LFS); n != 2 {
		t.Errorf("%d LFS requests, want a batch and an object", n)
	}
	// Upstream is down and the tarball is lost: the files are still here.
	if err := w.git.Down(); err != nil {
		t.Fatal(err)
	}
	w.forget()
	_ = w.refresh()
	if got := w.content(h, "big.bin"); got != "the real bytes" {
		t.Errorf("during an outage: %q", got)
	}
	if err := w.git.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The attributes change the content without changing its tree.
	w.commit("main", map[string]gitserver.Content{".gitattributes": "*.txt filter=lfs\n"})
	w.mustRefresh()
	changed := w.head(s, func(now gitcache.Head) error {
		if now.Digest == h.Digest {
			return fmt.Errorf("still %s", h.Digest)
		}
		return good(now)
	})
	if got := w.content(changed, "plain.txt"); got != "the real bytes" {
		t.Errorf("plain.txt is %q after the attributes changed", got)
	}
}

// TestLFSConfig holds that a .lfsconfig at the root counts for a folder: its server is asked, and
// what it excludes stays a pointer.
func TestLFSConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	if err := w.git.Create(t.Context(), "team/assets"); err != nil {
		t.Fatal(err)
	}
	pointer, err := w.git.PutLFS("team/assets", []byte("the real bytes"))
	if err != nil {
		t.Fatal(err)
	}
	server := "[lfs]\n\turl = " + w.git.URL("team/assets") + "/info/lfs\n"
	w.commit("main", map[string]gitserver.Content{".gitattributes": "*.bin filter=lfs\n", ".lfsconfig": server,
		"a/big.bin": pointer, "a/raw/x.bin": pointer})
	w.mustRefresh()
	s := w.with("main", "a", record.SourceOptions{LFS: true})
	h := w.head(s, good)
	if got := w.content(h, "big.bin") + w.content(h, "raw/x.bin"); got != "the real bytesthe real bytes" {
		t.Errorf("the files are %q", got)
	}
	w.commit("main", map[string]gitserver.Content{".lfsconfig": server + "\tfetchexclude = a/raw\n"})
	w.mustRefresh()
	changed := w.head(s, func(now gitcache.Head) error {
		if now.Digest == h.Digest {
			return fmt.Errorf("still %s", h.Digest)
		}
		return good(now)
	})
	if got := w.content(changed, "big.bin") + w.content(changed, "raw/x.bin"); got != "the real bytes"+string(pointer) {
		t.Errorf("the files are %q", got)
	}
}

// TestLFSFaults checks that a bad LFS server gives a clear error, keeps the old
// content, and stores nothing that does not match the pointer.
func TestLFSFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault func(w *world)
		size  int
		want  string
	}{
		"other bytes":     {func(w *world) { _ = w.git.DamageLFS(repoName) }, 10, "sends bytes that do not match"},
		"missing":         {func(w *world) { _ = os.RemoveAll(filepath.Join(w.git.Path(repoName), "lfs")) }, 10, "object does not exist"},
		"refused":         {func(w *world) { w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.LFS, Status: 403}) }, 10, "credentials are refused"},
		"not there":       {func(w *world) { w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.LFS, Status: 404}) }, 10, "not found"},
		"of an extension": {func(*world) {}, -1, "was stored by the LFS extension \"case\""},
		"garbage": {func(w *world) {
			w.git.SetFault(repoName, gitserver.Fault{Only: gitserver.LFS, Status: 200, Body: "<html>"})
		}, 10, "did not answer with JSON"},
		"to inside": {func(w *world) { w.git.SetLFSBase("http://169.254.169.254/") }, 10, "is internal"},
		"a bomb":    {func(*world) {}, 3 << 20, "more than the limit of 2097152 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap, func(c *gitcache.Config) { c.Limits.Bytes = 2 << 20 })
			s := w.with("main", "a", record.SourceOptions{LFS: true})
			old := w.head(s, good)
			pointer, err := w.git.PutLFS(repoName, []byte(strings.Repeat("x", max(tt.size, 1))))
			if err != nil {
				t.Fatal(err)
			}
			if tt.size < 0 {
				pointer = strings.Replace(pointer, "\noid ", "\next-0-case sha256:"+strings.Repeat("ab", 32)+"\noid ", 1)
			}
			tt.fault(w)
			w.commit("main", map[string]gitserver.Content{".gitattributes": "*.bin filter=lfs\n", "a/x.bin": pointer})
			w.mustRefresh()
			if h := w.head(s, saying(tt.want)); h.Digest != old.Digest {
				t.Errorf("content is %s, want the old %s", h.Digest, old.Digest)
			}
			if kept, _ := filepath.Glob(filepath.Join(gitcache.Mirror(w.cache, w.repo.ID), "lfs/objects/*/*/*")); len(kept) != 0 {
				t.Errorf("kept %v", kept)
			}
		})
	}
}

// TestVendoredBases checks that pinned remote bases come beside the content,
// with a map, and with what they need themselves, loops included.
func TestVendoredBases(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	host := strings.TrimSuffix(w.git.URL(""), "/.git")
	commit := w.other("team/base", map[string]gitserver.Content{
		"app/kustomization.yaml": "resources: [../shared, cm.yaml]\n", "app/cm.yaml": "kind: ConfigMap\n", "shared/kustomization.yaml": "resources: [\"" + host + "/team/more.git//part?ref=v1\"]\n", "unrelated/x": "x"})
	more := w.other("team/more", map[string]gitserver.Content{"part/kustomization.yaml": "resources: [\"" + host + "/team/base.git//app?ref=" + commit + "\"]\n"})
	if err := w.git.Tag(t.Context(), "team/more", "v1", more); err != nil {
		t.Fatal(err)
	}
	base := host + "/team/base.git//app?ref=" + commit
	w.commit("main", map[string]gitserver.Content{"a/kustomization.yaml": "resources:\n- cm.yaml\n- " + base + "\n"})
	w.mustRefresh()
	h := w.head(w.track("main", "a"), good)
	list := w.list(h)
	var kinds []string
	for _, p := range list {
		parts := strings.SplitN(p, "/", 4)
		if len(parts) == 4 && parts[0] == ".axle" {
			p = ".axle/vendor/" + parts[2][:4] + "/" + parts[3]
		}
		kinds = append(kinds, p)
	}
	want := []string{".axle/vendor.yaml", ".axle/vendor/base/app/cm.yaml", ".axle/vendor/base/app/kustomization.yaml", ".axle/vendor/base/shared/kustomization.yaml", ".axle/vendor/more/kustomization.yaml", "cm.yaml", "kustomization.yaml"}
	slices.Sort(kinds)
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if text := w.content(h, ".axle/vendor.yaml"); !strings.Contains(text, base) {
		t.Errorf("the map is %s", text)
	}
	// The result is the same after everything but the mirrors is lost, without
	// any request to upstream.
	if err := w.git.Down(); err != nil {
		t.Fatal(err)
	}
	w.forget()
	_ = w.refresh()
	eventually.For(t, patience, "the mirrors of all parts are open again", func() error {
		f, err := w.cache.Fetch(t.Context(), h.Digest)
		if err == nil {
			err = f.Close()
		}
		return err
	})
	if diff := cmp.Diff(list, w.list(h)); diff != "" {
		t.Errorf("made again (-want +got):\n%s", diff)
	}
}

// TestUnpinned checks that a reference which can move by itself, or cannot be
// fetched, is an error with file and line.
func TestUnpinned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"x": "x"}, gitcache.ShortenGap)
	host := strings.TrimSuffix(w.git.URL(""), "/.git")
	w.other("team/base", map[string]gitserver.Content{"kustomization.yaml": ""})
	files := map[string]gitserver.Content{}
	tests := map[string]struct{ entry, want string }{
		"none":     {host + "/team/base.git", "is not pinned"},
		"branch":   {host + "/team/base.git?ref=main", "has no tag \"main\""},
		"a file":   {"https://git.example.test/a.yaml", "names no repository"},
		"other":    {"file:///etc//x?ref=v1", "is not an https or ssh URL"},
		"folder":   {host + "/team/base.git//none?ref=", "is not pinned"},
		"internal": {"http://169.254.169.254/a/b//c?ref=v1", "is internal"},
		"no chart": {"", "is neither https:// nor oci://"},
	}
	for name, tt := range tests {
		files[strings.ReplaceAll(name, " ", "-")+"/app/kustomization.yaml"] = "resources:\n- " + tt.entry + "\n"
	}
	files["no-chart/app/kustomization.yaml"] = "kind: Kustomization\nhelmCharts: [{name: x, repo: \"git://x\"}]\n"
	w.commit("main", files)
	w.mustRefresh()
	for name, tt := range tests {
		folder := strings.ReplaceAll(name, " ", "-")
		h := w.head(w.track("main", folder+"/app"), bad)
		if !strings.Contains(h.Error, folder+"/app/kustomization.yaml:2: ") || !strings.Contains(h.Error, tt.want) {
			t.Errorf("%s: error %q, want %q", name, h.Error, tt.want)
		}
	}
}

// TestResolveCanBeServed checks that what was resolved without being followed
// is served, even after it was evicted.
func TestResolveCanBeServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]gitserver.Content{"a/cm.yaml": "1"}, gitcache.ShortenGap)
	w.mustRefresh()
	s, err := gitcache.NewSource(w.repo.ID, "main", "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := w.cache.Resolve(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := gitcache.Forget(w.cache, h.Digest); err != nil {
		t.Fatal(err)
	}
	if got := w.content(h, "cm.yaml"); got != "1" {
		t.Errorf("content is %q", got)
	}
	if _, err := w.cache.Head(context.WithoutCancel(t.Context()), s.ID); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("it is followed: %v", err)
	}
}

// TestCredentialsOfParts checks that a repository's credentials are used for
// references to the same server, and never for another server.
func TestCredentialsOfParts(t *testing.T) {
	t.Parallel()
	w := &world{t: t, git: newGit(t, gitserver.Config{Password: "secret"}), store: newStore(), dir: t.TempDir()}
	pointer, err := w.git.PutLFS(repoName, []byte("the real bytes"))
	if err != nil {
		t.Fatal(err)
	}
	lib := w.other("team/lib", map[string]gitserver.Content{"x": "near"})
	elsewhere := newGit(t, gitserver.Config{Password: "secret"})
	far, err := elsewhere.Commit(t.Context(), repoName, "main", "far", map[string]gitserver.Content{"x": "far"})
	if err != nil {
		t.Fatal(err)
	}
	w.link(repoName, "main", "near/lib", lib, map[string]gitserver.Content{"near/big.bin": pointer, ".gitattributes": "*.bin filter=lfs\n",
		".gitmodules": "[submodule \"n\"]\n\tpath = near/lib\n\turl = ../lib.git\n[submodule \"f\"]\n\tpath = far/lib\n\turl = " + elsewhere.URL(repoName) + "\n"})
	w.link(repoName, "main", "far/lib", far, nil)
	w.start(gitcache.ShortenGap)
	w.repo = w.create(gitcache.Credentials{Password: "secret"})
	o := record.SourceOptions{Submodules: true, LFS: true}
	h := w.head(w.with("main", "near", o), good)
	if got := w.content(h, "lib/x") + ", " + w.content(h, "big.bin"); got != "near, the real bytes" {
		t.Errorf("content is %q", got)
	}
	w.head(w.with("main", "far", o), saying(`submodule "far/lib"`))
	for _, e := range elsewhere.Log("") {
		if e.Kind != gitserver.Refused {
			t.Errorf("the other server was shown credentials: %+v", e)
		}
	}
	if len(elsewhere.Log("")) == 0 {
		t.Error("the other server was not asked at all")
	}
}
