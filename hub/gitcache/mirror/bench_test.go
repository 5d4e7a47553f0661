package mirror_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/hub/gitcache/mirror"
)

// heap is what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRefsInMemory measures the bytes that a ref costs in a list.
func BenchmarkRefsInMemory(b *testing.B) {
	for _, n := range []int{50_000, 500_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			id := strings.Repeat("0123456789abcdef", 4)[:40]
			before := heap()
			var keep *mirror.Diff
			for b.Loop() {
				d := new(mirror.Table).Compare()
				for i := range n {
					if err := d.See(gitref.Ref{Name: fmt.Sprintf("refs/heads/team-%02d/feature/ticket-%06d", i%50, i), ID: id}); err != nil {
						b.Fatal(err)
					}
				}
				keep = d
			}
			b.ReportMetric(float64(heap()-before)/float64(n), "bytes/ref")
			runtime.KeepAlive(keep)
		})
	}
}
