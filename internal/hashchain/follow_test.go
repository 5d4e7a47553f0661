package hashchain_test

import (
	"errors"
	"testing"

	"github.com/axle-cd/axle/internal/hashchain"
)

// Somebody who knows the format rewrites a line, including its hash: the next line
// reveals it, even without a checkpoint and a head.
func TestOneLineWrittenAnewBreaksTheNext(t *testing.T) {
	var end hashchain.End
	var lines []hashchain.Line
	for _, record := range []string{`{"a":1}`, `{"a":2}`, `{"a":3}`} {
		line := hashchain.Next(end, []byte(record))
		lines, end = append(lines, line), line.End()
	}
	walk := func(lines []hashchain.Line) (at int64) {
		t.Helper()
		var end hashchain.End
		for _, line := range lines {
			next, err := end.Follow(line)
			var broken *hashchain.Broken
			if errors.As(err, &broken) {
				return broken.Sequence
			}
			if err != nil {
				t.Fatal(err)
			}
			end = next
		}
		return 0
	}
	anew := hashchain.Next(lines[0].End(), []byte(`{"a":9}`))
	for name, test := range map[string]struct {
		lines []hashchain.Line
		want  int64
	}{
		"whole":           {lines, 0},
		"one anew":        {[]hashchain.Line{lines[0], anew, lines[2]}, 3},
		"the first anew":  {[]hashchain.Line{hashchain.Next(hashchain.End{}, []byte(`{"a":9}`)), lines[1], lines[2]}, 2},
		"one less":        {[]hashchain.Line{lines[0], lines[2]}, 2},
		"one twice":       {[]hashchain.Line{lines[0], lines[0]}, 1},
		"begun elsewhere": {[]hashchain.Line{hashchain.Next(hashchain.End{Hash: "other"}, []byte(`{"a":1}`))}, 1},
	} {
		if got := walk(test.lines); got != test.want {
			t.Errorf("%s: broken at %d, want %d", name, got, test.want)
		}
	}
}
