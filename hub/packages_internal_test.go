package hub

import (
	"fmt"
	"testing"

	"github.com/axle-cd/axle/internal/digest"
)

// The tarballs of clusters that were made from templates are as many as there are clusters.
func TestTarballsInMemoryAreBounded(t *testing.T) {
	p := &packages{binary: "axle1:binary", kept: map[digest.Digest][]byte{"axle1:binary": make([]byte, 1<<20)}}
	for n := range 40 {
		for range 2 { // the same one again takes no more room
			p.keep(digest.Digest(fmt.Sprintf("axle1:%d", n)), make([]byte, 2<<20))
		}
		size := 0
		for _, data := range p.kept {
			size += len(data)
		}
		if last := p.kept[digest.Digest(fmt.Sprintf("axle1:%d", n))]; size > maxKept+1<<20 || size < min(n+1, maxKept>>21)<<21 || last == nil {
			t.Fatalf("after %d tarballs, %d bytes are kept, of the last one %d", n+1, size, len(last))
		}
	}
	if p.kept["axle1:binary"] == nil {
		t.Error("the tarball of this binary is gone")
	}
}
