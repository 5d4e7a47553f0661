package gitcache_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// largeFiles are about 100 MB of text as manifests and charts are: words that
// repeat, numbers that do not.
func largeFiles() map[string]gitserver.Content {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("apiVersion kind metadata name namespace labels app spec replicas template containers image ports containerPort env value resources limits cpu memory volumeMounts")
	files := map[string]gitserver.Content{}
	for i := range 2000 {
		var b strings.Builder
		for b.Len() < 52_000 {
			fmt.Fprintf(&b, "%s%s: %s-%x\n", strings.Repeat("  ", r.IntN(6)), words[r.IntN(len(words))], words[r.IntN(len(words))], r.Uint64())
		}
		files[fmt.Sprintf("big/%02d/%04d.yaml", i%40, i)] = b.String()
	}
	return files
}

// folderMB is the size of largeFiles.
const folderMB = 104

// taken returns the CPU of this process and of its ended children, such as git.
func taken(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}

// BenchmarkFirstTarball compares the first tarball of a folder of 100 MB, from
// mirror to stored file with its digest, with git archive piped into zstd. The
// budget is a ratio of 1.3.
func BenchmarkFirstTarball(b *testing.B) {
	git, err := gitserver.Start(b.Context(), gitserver.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = git.Close() })
	if err := git.Create(b.Context(), repoName); err != nil {
		b.Fatal(err)
	}
	if _, err := git.Commit(b.Context(), repoName, "main", "big", largeFiles()); err != nil {
		b.Fatal(err)
	}
	store, dir := NewMemory(nil), b.TempDir()
	cache, err := gitcache.New(gitcache.Config{Store: store, Dir: dir, Replica: "hub-0", AllowUpstreamCIDRs: loopback, AllowHTTP: true})
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = cache.Run(b.Context()) }()
	repo, err := cache.CreateRepository(b.Context(), gitcache.Repository{Name: "x", URL: git.URL(repoName)}, gitcache.Credentials{})
	if err != nil {
		b.Fatal(err)
	}
	s, _ := gitcache.NewSource(repo.ID, "main", "big", nil)
	if err := cache.Track(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	var head gitcache.Head
	eventually.For(b, 5*time.Minute, "the mirror", func() (err error) {
		if head, err = cache.Head(b.Context(), s.ID); err == nil {
			err = good(head)
		}
		return err
	})
	mirror := gitcache.Mirror(cache, repo.ID)
	var ours, theirs, again, ourCPU, theirCPU time.Duration
	for b.Loop() {
		began, cpu := time.Now(), taken(b)
		cmd := exec.Command("sh", "-c", "git archive --format=tar "+head.Revision+" big | zstd -q -c > "+filepath.Join(dir, "theirs.tar.zst"))
		cmd.Dir = mirror
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		theirs += time.Since(began)
		theirCPU += taken(b) - cpu

		if err := gitcache.Forget(cache, head.Digest); err != nil {
			b.Fatal(err)
		}
		began, cpu = time.Now(), taken(b)
		f, err := cache.Fetch(b.Context(), head.Digest)
		if err != nil {
			b.Fatal(err)
		}
		ours += time.Since(began)
		ourCPU += taken(b) - cpu
		_ = f.Close()

		began = time.Now()
		if f, err = cache.Fetch(b.Context(), head.Digest); err != nil {
			b.Fatal(err)
		}
		again += time.Since(began)
		_ = f.Close()
	}
	n := float64(b.N)
	b.ReportMetric(ours.Seconds()/n, "s/first")
	b.ReportMetric(theirs.Seconds()/n, "s/archive")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
	b.ReportMetric(n*folderMB/ourCPU.Seconds(), "MB/core-s")
	b.ReportMetric(n*folderMB/theirCPU.Seconds(), "MB/archive-core-s")
	b.ReportMetric(float64(again.Microseconds())/n, "µs/repeated")
	if info, err := os.Stat(filepath.Join(dir, "theirs.tar.zst")); err == nil {
		b.ReportMetric(float64(head.Size)/float64(info.Size()), "size-ratio")
	}
}
