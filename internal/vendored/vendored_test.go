package vendored_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/vendored"
)

// TestEncode checks that equal contents give equal bytes, in any order and however
// often they are encoded, and decode to the same.
func TestEncode(t *testing.T) {
	t.Parallel()
	a, b := vendored.Base{Reference: "a", Path: "x"}, vendored.Base{Reference: "b", Path: "y"}
	chart := vendored.Chart{Repository: "https://c.test", Name: "n", Version: ">=1", Path: "z"}
	one, two := vendored.Contents{Bases: []vendored.Base{b, a, b}, Charts: []vendored.Chart{chart, chart}}, vendored.Contents{Bases: []vendored.Base{a, b}, Charts: []vendored.Chart{chart}}
	var texts []string
	for range 2 {
		for _, c := range []vendored.Contents{one, two} {
			raw, err := vendored.Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(raw))
		}
	}
	for _, text := range texts[1:] {
		if text != texts[0] {
			t.Errorf("got\n%s\nand\n%s", texts[0], text)
		}
	}
	got, err := vendored.Decode([]byte(texts[0]))
	two.Version = 1
	if diff := cmp.Diff(two, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("version: 1\nbases: [{reference: a, path: ../b}]\ncharts: [{path: /}]\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := vendored.Decode(raw)
		if err != nil {
			return
		}
		if _, err := vendored.Encode(c); err != nil {
			t.Fatal(err)
		}
	})
}
