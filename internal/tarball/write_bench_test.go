package tarball

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/digest"
)

// BenchmarkWrite packs 100 MB of manifests.
func BenchmarkWrite(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("apiVersion kind metadata name namespace labels app spec replicas template containers image ports")
	var all []vectorEntry
	size := int64(0)
	for i := range 2000 {
		var text strings.Builder
		for text.Len() < 52_000 {
			fmt.Fprintf(&text, "%s%s: %s-%x\n", strings.Repeat("  ", r.IntN(6)), words[r.IntN(len(words))], words[r.IntN(len(words))], r.Uint64())
		}
		all = append(all, vectorEntry{Path: fmt.Sprintf("big/%04d.yaml", i), Type: digest.File, Content: text.String()})
		size += int64(text.Len())
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, _, err := Write(io.Discard, seqOf(all), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
