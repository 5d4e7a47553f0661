package gitcache_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
)

// manifests is a folder of 10 MB as people have it: 500 files of 20 KB.
func manifests(seed uint64) map[string]gitserver.Content {
	files := map[string]gitserver.Content{}
	for i := range 500 {
		files[fmt.Sprintf("app/%02d/%03d.yaml", i%20, i)] = manifest(seed + uint64(i))
	}
	return files
}

// manifest is 20 KB of Deployments that differ in names, images and numbers.
func manifest(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for b.Len() < 20_000 {
		name := fmt.Sprintf("%s-%s-%d", []string{"orders", "billing", "search", "frontend", "ledger"}[r.IntN(5)], []string{"api", "worker", "cron", "cache"}[r.IntN(4)], r.IntN(1000))
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %s
  labels: {app.kubernetes.io/name: %s, team: team-%d}
spec:
  replicas: %d
  selector: {matchLabels: {app.kubernetes.io/name: %s}}
  template:
    metadata:
      annotations: {checksum/config: %016x%016x}
    spec:
      containers:
        - name: main
          image: registry.example.com/%s:v%d.%d.%d
          resources: {requests: {cpu: %dm, memory: %dMi}}
`, name, name, r.IntN(20), 1+r.IntN(9), name, r.Uint64(), r.Uint64(), name, r.IntN(9), r.IntN(99), r.IntN(99), 10*r.IntN(100), 16*r.IntN(100))
	}
	return b.String()
}

// cpu is what this process used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDelta changes one file of 20 KB in a folder of 10 MB: a line of it,
// and all of it. The budget is 10 KB over the wire per cluster and 5 ms of the
// hub's processor.
func BenchmarkDelta(b *testing.B) {
	git, err := gitserver.Start(b.Context(), gitserver.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = git.Close() })
	if err := git.Create(b.Context(), repoName); err != nil {
		b.Fatal(err)
	}
	files := manifests(1)
	if _, err := git.Commit(b.Context(), repoName, "main", "first", files); err != nil {
		b.Fatal(err)
	}
	store := NewMemory(nil)
	cache, err := gitcache.New(gitcache.Config{Store: store, Dir: b.TempDir(), Replica: "hub-0", AllowUpstreamCIDRs: loopback, AllowHTTP: true})
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = cache.Run(b.Context()) }()
	repo, err := cache.CreateRepository(b.Context(), gitcache.Repository{Name: "x", URL: git.URL(repoName)}, gitcache.Credentials{})
	if err != nil {
		b.Fatal(err)
	}
	s, _ := gitcache.NewSource(repo.ID, "main", "app", nil)
	if err := cache.Track(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	moved := func(from digest.Digest) gitcache.Head {
		var head gitcache.Head
		eventually.For(b, time.Minute, "the head", func() (err error) {
			if head, err = cache.Head(b.Context(), s.ID); err == nil {
				err = good(head)
			}
			if err == nil && head.Digest == from {
				err = fmt.Errorf("still %s", from.Short())
			}
			return err
		})
		return head
	}
	commit := func(text string, before gitcache.Head) gitcache.Head {
		if _, err := git.Commit(b.Context(), repoName, "main", "change", map[string]gitserver.Content{"app/07/007.yaml": text}); err != nil {
			b.Fatal(err)
		}
		if err := cache.RefreshAndWait(b.Context(), repo.ID, ""); err != nil {
			b.Fatal(err)
		}
		return moved(before.Digest)
	}
	first := moved("")
	text := files["app/07/007.yaml"]
	line := commit(strings.Replace(text, ":v", ":v1", 1), first)
	all := commit(manifest(99), line)

	const clusters = 1000
	var lineBytes, allBytes int64
	var made, served time.Duration
	take := func(from, to digest.Digest) int64 {
		d, err := cache.Delta(b.Context(), from, to)
		if err != nil {
			b.Fatal(err)
		}
		defer d.Close() //nolint:errcheck // it was only read
		if _, err := io.Copy(io.Discard, d); err != nil {
			b.Fatal(err)
		}
		return d.Size
	}
	for b.Loop() {
		if err := gitcache.ForgetVariants(cache); err != nil {
			b.Fatal(err)
		}
		began := cpu()
		lineBytes = take(first.Digest, line.Digest)
		made += cpu() - began
		allBytes = take(line.Digest, all.Digest)
		began = cpu()
		for range clusters {
			take(first.Digest, line.Digest)
		}
		served += cpu() - began
	}
	n := float64(b.N)
	b.ReportMetric(float64(first.Size)/1000, "kB/whole")
	b.ReportMetric(float64(lineBytes)/1000, "kB/line")
	b.ReportMetric(float64(allBytes)/1000, "kB/file")
	b.ReportMetric(float64(made.Microseconds())/n/1000, "ms/made")
	b.ReportMetric(float64(served.Microseconds())/n/clusters/1000, "ms/served")
}
