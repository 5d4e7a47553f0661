package mirror

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
)

// questions counts what is written to git.
type questions struct {
	io.WriteCloser
	asked int
}

func (q *questions) Write(p []byte) (int, error) {
	q.asked += bytes.Count(p, []byte("contents "))
	return q.WriteCloser.Write(p)
}

// TestAFolderInManyPlacesIsReadOnce lists a repository of seven objects that
// stand for 24 million folders, each with the same attribute file: the limit
// ends it, and git is asked for each object once.
func TestAFolderInManyPlacesIsReadOnce(t *testing.T) {
	t.Parallel()
	m, err := NewPool(nil).Open(t.Context(), filepath.Join(t.TempDir(), "m"), "sha1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	git := func(in string, args ...string) string {
		t.Helper()
		out, err := m.local(t.Context(), in, args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	attributes := git("*.bin filter=lfs\n", "hash-object", "-w", "--stdin")
	line := "100644 blob " + attributes + "\t.gitattributes\n"
	top := git(line, "mktree")
	for range 5 {
		in := line
		for i := range 30 {
			in += fmt.Sprintf("040000 tree %s\t%02d\n", top, i)
		}
		top = git(in, "mktree")
	}
	process, err := m.objs.start()
	if err != nil {
		t.Fatal(err)
	}
	counted := &questions{WriteCloser: process.in}
	process.in = counted
	m.objs.giveBack(process)
	l := newLister(NewReader(m), &Content{lfs: true}, 20_000) // 300,000 are 40 s under the race detector
	err = l.walk(t.Context(), "", treeEntry{id: top, mode: modeTree}, 0, nil)
	if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "more than 20000 files and folders") {
		t.Errorf("the listing ended with %v", err)
	}
	if counted.asked != 7 {
		t.Errorf("git was asked %d times for seven objects", counted.asked)
	}
}

// A folder with many names and an attribute file with many patterns is refused when the
// patterns have taken what they may, and says where.
func TestDearPatternsOfAttributesEndTheListing(t *testing.T) {
	dear, err := references.ParseAttributes([]byte(strings.Repeat("*a*a*a*a*a*a*a*a*a*a*b*c filter=lfs\n", 500)))
	if err != nil {
		t.Fatal(err)
	}
	cheap, err := references.ParseAttributes([]byte(strings.Repeat("*.bin filter=lfs\ndata/**/*.dat filter=lfs\n", 50)))
	if err != nil {
		t.Fatal(err)
	}
	walk := func(lines references.Attributes, taken int) (err error) {
		l := &lister{content: &Content{lfs: true}, limit: 1 << 20, steps: taken}
		for n := 0; err == nil && n < 100_000; n++ {
			err = l.walk(t.Context(), fmt.Sprintf("dir/%s%dc", strings.Repeat("a", 200), n), treeEntry{mode: modeFile}, 0, []scope{{"dir", lines}})
		}
		return err
	}
	if err := walk(dear, maxFilterSteps-10*cost.Budget); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), "dir/.gitattributes") || !strings.Contains(err.Error(), "take too long") {
		t.Errorf("dear patterns: %v", err)
	}
	if err := walk(cheap, 0); err != nil {
		t.Errorf("a hundred patterns on 100,000 files: %v", err)
	}
}
