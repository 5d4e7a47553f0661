package gitcache_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// importMonorepo fills the main branch with folders that hold files each; two
// of every hundred folders refer to a shared base.
func importMonorepo(tb testing.TB, git *gitserver.Server, folders, files int) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", "fast-import", "--quiet")
	cmd.Dir = git.Path(repoName)
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	w := bufio.NewWriterSize(in, 1<<20)
	fmt.Fprint(w, "commit refs/heads/main\ncommitter A <a@example.test> 1700000000 +0000\ndata 4\nbig\n\n")
	put := func(name, text string) { fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text) }
	put("shared/base/kustomization.yaml", "resources: [cm.yaml]\n")
	put("shared/base/cm.yaml", "kind: ConfigMap\n")
	put("README.md", "hello\n")
	for i := range folders {
		dir := fmt.Sprintf("apps/%04d", i)
		refer := "resources: [f0.yaml]\n"
		if i%50 == 3 {
			refer = "resources: [../../shared/base]\n"
		}
		put(dir+"/kustomization.yaml", refer)
		for f := range files - 1 {
			put(fmt.Sprintf("%s/d%d/f%d.yaml", dir, f/10, f), fmt.Sprintf("kind: ConfigMap\nmetadata: {name: a%d-%d}\ndata: {x: \"%d\"}\n", i, f, i*f))
		}
	}
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		tb.Fatalf("fast-import: %v: %s", err, said.String())
	}
}

// fleet is a cache that follows every folder of a monorepo.
type fleet struct {
	tb    testing.TB
	git   *gitserver.Server
	store *Memory
	cache *gitcache.Cache
	repo  gitcache.Repository
}

// newFleet follows all folders of a new repository.
func newFleet(tb testing.TB, folders, files int) *fleet {
	tb.Helper()
	f := newQuietFleet(tb, folders, files)
	f.follow(folders)
	return f
}

// newQuietFleet follows none yet.
func newQuietFleet(tb testing.TB, folders, files int) *fleet {
	tb.Helper()
	git, err := gitserver.Start(tb.Context(), gitserver.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = git.Close() })
	if err := git.Create(tb.Context(), repoName); err != nil {
		tb.Fatal(err)
	}
	importMonorepo(tb, git, folders, files)
	f := &fleet{tb: tb, git: git, store: NewMemory(nil)}
	config := gitcache.Config{Store: f.store, Dir: tb.TempDir(), Replica: "hub-0", AllowUpstreamCIDRs: loopback, AllowHTTP: true}
	gitcache.ShortenGap(&config)
	if f.cache, err = gitcache.New(config); err != nil {
		tb.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- f.cache.Run(tb.Context()) }()
	tb.Cleanup(func() { <-done })
	if f.repo, err = f.cache.CreateRepository(tb.Context(), gitcache.Repository{Name: "x", URL: git.URL(repoName)}, gitcache.Credentials{}); err != nil {
		tb.Fatal(err)
	}
	return f
}

// follow tracks the first folders and waits for their heads.
func (f *fleet) follow(folders int) {
	f.tb.Helper()
	f.track(folders)
	eventually.For(f.tb, 5*time.Minute, "all heads", func() error {
		heads := f.heads()
		if len(heads) < folders {
			return fmt.Errorf("%d heads", len(heads))
		}
		for _, h := range heads {
			if err := good(h); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *fleet) track(folders int) {
	f.tb.Helper()
	for i := range folders {
		s, err := gitcache.NewSource(f.repo.ID, "main", fmt.Sprintf("apps/%04d", i), nil)
		if err != nil {
			f.tb.Fatal(err)
		}
		if err := f.cache.Track(f.tb.Context(), s); err != nil {
			f.tb.Fatal(err)
		}
	}
	f.cache.Changed(f.repo.ID)
}

// commit pushes a change and waits until it was processed.
func (f *fleet) commit(files map[string]gitserver.Content) {
	f.tb.Helper()
	f.push(files)
	f.look()
}

func (f *fleet) push(files map[string]gitserver.Content) {
	f.tb.Helper()
	if _, err := f.git.Commit(f.tb.Context(), repoName, "main", "change", files); err != nil {
		f.tb.Fatal(err)
	}
}

func (f *fleet) look() {
	f.tb.Helper()
	if err := f.cache.RefreshAndWait(f.tb.Context(), f.repo.ID, ""); err != nil {
		f.tb.Fatal(err)
	}
}

// work is what a commit made.
type work struct{ Heads, Feed, Tarballs int }

func (f *fleet) measure(do func()) work {
	f.tb.Helper()
	before, feed, stored := f.heads(), len(f.store.Feed()), f.stored()
	do()
	var w work
	for id, h := range f.heads() {
		if h != before[id] {
			w.Heads++
		}
	}
	rows := slices.DeleteFunc(slices.Clone(f.store.Feed()[feed:]), func(row string) bool { return !strings.Contains(row, "head") })
	w.Feed, w.Tarballs = len(rows), f.stored()-stored
	return w
}

func (f *fleet) heads() map[string]gitcache.Head {
	f.tb.Helper()
	list, err := f.store.Heads(f.tb.Context(), f.repo.ID)
	if err != nil {
		f.tb.Fatal(err)
	}
	out := map[string]gitcache.Head{}
	for _, h := range list {
		out[h.SourceID] = h
	}
	return out
}

func (f *fleet) stored() int {
	found, _ := filepath.Glob(filepath.Join(gitcache.Stored(f.cache), "*", "*"))
	return len(found)
}

// TestMonorepo checks that a commit costs what it touches: heads, messages and
// tarballs only of the services whose content changed.
func TestMonorepo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 60, 5)
	for _, tt := range []struct {
		name  string
		files map[string]gitserver.Content
		want  int
	}{
		{"one folder", map[string]gitserver.Content{"apps/0007/d0/f0.yaml": "kind: New\n"}, 1},
		{"elsewhere", map[string]gitserver.Content{"README.md": "x", "other/deep/file": "x"}, 0},
		{"a shared base", map[string]gitserver.Content{"shared/base/cm.yaml": "kind: New\n"}, 2},
		{"the same again", map[string]gitserver.Content{"README.md": "y", "apps/0007/d0/f0.yaml": "kind: New\n"}, 0},
		{"a reference appears", map[string]gitserver.Content{"apps/0009/kustomization.yaml": "resources: [../../shared/later]\n"}, 1},
		{"then its target", map[string]gitserver.Content{"shared/later/kustomization.yaml": "resources: []\n"}, 1},
		{"and goes", map[string]gitserver.Content{"shared/later/kustomization.yaml": gitserver.Removed()}, 1},
	} {
		got := f.measure(func() { f.commit(tt.files) })
		if got.Heads != tt.want || got.Feed != tt.want || got.Tarballs > tt.want {
			t.Errorf("%s: %+v, want %d of each", tt.name, got, tt.want)
		}
	}
}

// TestNewFoldersDoNotDelayAKick checks that a requested fetch comes before the
// evaluation of many new sources, and that none of them is lost.
func TestNewFoldersDoNotDelayAKick(t *testing.T) {
	t.Parallel()
	const folders = 400
	f := newQuietFleet(t, folders, 60)
	f.look() // the repository is copied
	f.track(folders)
	eventually.For(t, patience, "the first head", func() error {
		if len(f.heads()) == 0 {
			return errors.New("none")
		}
		return nil
	})
	before := f.git.Count(repoName, gitserver.LsRefs)
	if err := f.cache.Refresh(t.Context(), f.repo.ID); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, patience, "a look at upstream", func() error {
		if f.git.Count(repoName, gitserver.LsRefs) == before {
			return errors.New("not yet")
		}
		return nil
	})
	if n := len(f.heads()); n == folders {
		t.Error("upstream was looked at when all new sources were done")
	}
	f.follow(folders)
}

// BenchmarkMonorepo is one commit that touches one of 2,000 folders in a
// repository of 200,000 files. The CPU is that of this process and its git
// processes, the Git server's side of the fetch included.
func BenchmarkMonorepo(b *testing.B) {
	began, cpu := time.Now(), cpuOfAll(b)
	f := newFleet(b, 2000, 100)
	start, startCPU := time.Since(began).Seconds(), cpuOfAll(b)-cpu
	var spent, own float64
	var total work
	i := 0
	for b.Loop() {
		i++
		got := f.measure(func() {
			f.push(map[string]gitserver.Content{fmt.Sprintf("apps/%04d/d0/f0.yaml", i%2000): fmt.Sprintf("kind: New%d\n", i)})
			cpu, self := cpuOfAll(b), cpuOf(b, syscall.RUSAGE_SELF)
			f.look()
			spent, own = spent+cpuOfAll(b)-cpu, own+cpuOf(b, syscall.RUSAGE_SELF)-self
		})
		total.Heads, total.Feed, total.Tarballs = total.Heads+got.Heads, total.Feed+got.Feed, total.Tarballs+got.Tarballs
	}
	n := float64(b.N)
	b.ReportMetric(start, "s/start")
	b.ReportMetric(startCPU, "cpu-s/start")
	b.ReportMetric(spent/n, "cpu-s/commit")
	b.ReportMetric(own/n, "own-cpu-s/commit")
	b.ReportMetric(float64(total.Heads)/n, "heads/commit")
	b.ReportMetric(float64(total.Feed)/n, "messages/commit")
	b.ReportMetric(float64(total.Tarballs)/n, "tarballs/commit")
	spent = 0
	for range 10 {
		f.push(map[string]gitserver.Content{"README.md": fmt.Sprint(time.Now().UnixNano())})
		cpu := cpuOfAll(b)
		f.look()
		spent += cpuOfAll(b) - cpu
	}
	b.ReportMetric(spent/10, "cpu-s/unrelated")
}

func cpuOf(tb testing.TB, who int) float64 {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// cpuOfAll returns the CPU time of this process and its children, including
// those still running.
func cpuOfAll(tb testing.TB) float64 {
	tb.Helper()
	total := cpuOf(tb, syscall.RUSAGE_SELF) + cpuOf(tb, syscall.RUSAGE_CHILDREN)
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		raw, _ := os.ReadFile(task)
		for pid := range strings.FieldsSeq(string(raw)) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			_, after, ok := strings.Cut(string(stat), ") ")
			if fields := strings.Fields(after); err == nil && ok && len(fields) > 12 {
				user, _ := strconv.ParseFloat(fields[11], 64)
				system, _ := strconv.ParseFloat(fields[12], 64)
				total += (user + system) / 100
			}
		}
	}
	return total
}
