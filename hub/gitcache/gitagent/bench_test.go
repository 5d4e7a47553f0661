package gitagent_test

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/test/gitserver"
)

// heap is what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkManyRefs lists and reads 50,000 refs with real git on both sides:
// first all of them into a new mirror, then what a poll does.
func BenchmarkManyRefs(b *testing.B) {
	const repo = "team/app"
	const n = 50_000
	s, err := gitserver.Start(b.Context(), gitserver.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if err := s.Create(b.Context(), repo); err != nil {
		b.Fatal(err)
	}
	var script strings.Builder
	refs := map[string]string{}
	for i := range n {
		fmt.Fprintf(&script, "commit refs/heads/feature/ticket-%06d\ncommitter A <a@b> %d +0000\ndata 1\nx\nM 100644 inline f\ndata %d\n%d\n\n", i, 1_700_000_000+i, len(fmt.Sprint(i)), i)
	}
	if _, err := s.Git(b.Context(), repo, nil, []byte(script.String()), "fast-import", "--quiet", "--force"); err != nil {
		b.Fatal(err)
	}
	main, err := s.Resolve(b.Context(), repo, "refs/heads/feature/ticket-000000")
	if err != nil {
		b.Fatal(err)
	}
	refs["refs/heads/main"] = main
	if err := s.SetRefs(b.Context(), repo, refs); err != nil {
		b.Fatal(err)
	}
	g, err := git.New(git.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, Getenv: func(string) string { return "" }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = g.Close() })
	srv, err := g.Server(git.Access{URL: s.URL(repo)})
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir() + "/m.git"
	m, err := mirror.NewPool(nil).Open(b.Context(), dir, "sha1")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("clone", func(b *testing.B) {
		var first time.Duration
		for b.Loop() {
			began := time.Now()
			if table, err := pull(b.Context(), srv, m); err != nil || table.Len() != n+1 {
				b.Fatalf("%v", err)
			}
			if first == 0 {
				first = time.Since(began) // after that there is nothing to clone
			}
		}
		if first > time.Second {
			b.ReportMetric(first.Seconds(), "s/clone")
		}
	})
	b.Run("table", func(b *testing.B) {
		before := heap()
		var table *mirror.Table
		for b.Loop() {
			if table, err = m.Table(b.Context()); err != nil || table.Len() < n {
				b.Fatalf("%d refs, %v", table.Len(), err)
			}
		}
		b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/table")
		b.ReportMetric(float64(heap()-before)/float64(n), "bytes/ref")
		runtime.KeepAlive(table)
	})
	table, err := m.Table(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for name, prefixes := range map[string][]string{"poll": {"refs/heads/main", "refs/tags/main"}, "list": gitref.AllPrefixes} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d := table.Compare()
				if _, err := srv.List(b.Context(), prefixes, d.See); err != nil {
					b.Fatal(err)
				}
				if d.End(prefixes); !d.Empty() {
					b.Fatalf("%d changed, %d gone", d.Changed.Len(), len(d.Gone))
				}
			}
			b.ReportMetric(1000*b.Elapsed().Seconds()/float64(b.N), "ms/"+name)
		})
	}
}

// pull does what an agent does with a mirror: list all, fetch, set refs.
func pull(ctx context.Context, s *git.Server, m *mirror.Mirror) (*mirror.Table, error) {
	before, err := m.Table(ctx)
	if err != nil {
		return nil, err
	}
	d := before.Compare()
	l, err := s.List(ctx, gitref.AllPrefixes, d.See)
	if err != nil {
		return nil, err
	}
	d.End(gitref.AllPrefixes)
	ids := map[string]bool{}
	for _, id := range d.Changed.All() {
		ids[id] = true
	}
	if len(ids) > 0 {
		if err := s.Fetch(ctx, m, slices.Collect(maps.Keys(ids))); err != nil {
			return nil, err
		}
	}
	if err := m.SetDefault(ctx, l.Default); err != nil {
		return nil, err
	}
	if err := m.SetRefs(ctx, d); err != nil {
		return nil, err
	}
	return m.Table(ctx)
}
