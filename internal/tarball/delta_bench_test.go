package tarball

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/digest"
)

// BenchmarkWriteDelta changes one file of 20 KB in 10 MB.
func BenchmarkWriteDelta(b *testing.B) {
	var old, changed []vectorEntry
	for i := range 500 {
		var text strings.Builder
		for n := 0; text.Len() < 20_000; n++ {
			fmt.Fprintf(&text, "key-%d-%d: %x\n", i, n, digest.SumOf(fmt.Append(nil, i, n)))
		}
		e := vectorEntry{Path: fmt.Sprintf("app/%03d.yaml", i), Content: text.String()}
		old = append(old, e)
		if i == 250 {
			e.Content = strings.Replace(e.Content, "key-250-7:", "key-250-other:", 1)
		}
		changed = append(changed, e)
	}
	rawA, from := pack(b, old)
	rawB, to := pack(b, changed)
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteDelta(b.Context(), io.Discard, stored(rawA), stored(rawB), Delta{from, to}); err != nil {
			b.Fatal(err)
		}
	}
}

func stored(raw []byte) Stored {
	return Stored{Reader: bytes.NewReader(raw), ReaderAt: bytes.NewReader(raw), Size: int64(len(raw))}
}
