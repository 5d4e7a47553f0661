package kubelet

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogKeepsLinesWhole(t *testing.T) {
	log, err := newLogFile(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 3*maxLine)
	log.copy("stdout", strings.NewReader("one\ntwo\n"+long+"\nlast without end"))
	log.end()
	for name, test := range map[string]struct {
		tail int64
		want string
	}{
		"all":                          {10, "one\ntwo\n" + long + "\nlast without end\n"},
		"the last":                     {1, "last without end\n"},
		"a line in pieces counts once": {2, long + "\nlast without end\n"},
		"none":                         {0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			offset, err := log.tailOffset(test.tail)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			err = log.read(t.Context(), offset, true, func(rec record) error {
				got.WriteString(rec.text + end(rec))
				return nil
			})
			if diff := cmp.Diff(test.want, got.String()); err != nil || diff != "" {
				t.Errorf("%v, want - got +\n%.300s", err, diff)
			}
		})
	}
}
