package gitcache_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/vendored"
	"github.com/axle-cd/axle/test/gitserver"
)

// rawWorld makes trees that git itself would not.
type rawWorld struct {
	*world
	blob string
}

func (w rawWorld) tree(entries ...gitserver.TreeEntry) string {
	w.t.Helper()
	id, err := w.git.RawTree(w.t.Context(), repoName, entries...)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w rawWorld) file(name, text string) gitserver.TreeEntry {
	w.t.Helper()
	id, err := w.git.Blob(w.t.Context(), repoName, text)
	if err != nil {
		w.t.Fatal(err)
	}
	return gitserver.TreeEntry{Mode: "100644", Name: name, ID: id}
}

func (w rawWorld) link(name, target string) gitserver.TreeEntry {
	e := w.file(name, target)
	e.Mode = "120000"
	return e
}

// nest puts a tree under itself: width places in each of depth levels, from
// one object a level.
func (w rawWorld) nest(leaf string, width, depth int) string {
	for range depth {
		var entries []gitserver.TreeEntry
		for i := range width {
			entries = append(entries, gitserver.TreeEntry{Mode: "40000", Name: fmt.Sprintf("%02d", i), ID: leaf})
		}
		leaf = w.tree(entries...)
	}
	return leaf
}

// TestHostileContent checks that whatever a tenant commits, the tenant gets a
// clear error, nothing incomplete stays on disk, and others are served.
func TestHostileContent(t *testing.T) {
	t.Parallel()
	w := rawWorld{world: newWorld(t, map[string]gitserver.Content{"good/cm.yaml": "1"}, gitcache.ShortenGap, func(c *gitcache.Config) { c.Limits.Bytes = 1 << 20 })}
	w.blob = w.file("", "x").ID
	remote := w.file("kustomization.yaml", "resources: [\"https://git.example.test/a/b//c?ref=v1\"]\n")
	outside := w.file("kustomization.yaml", "resources: [../../../../../../../../etc, \"../a\\nb\", \"-x\"]\n")
	tests := map[string]struct {
		tree string
		want string // empty: it is fine
	}{
		"newline":         {w.tree(w.file("a\nb", "x")), "control character"},
		"invalid-utf8":    {w.tree(w.file("a\xff\xfe", "x")), "UTF-8"},
		"dash":            {w.tree(w.file("--upload-pack=id", "x"), w.file("-x", "x")), ""},
		"backslash":       {w.tree(w.file(`..\evil`, "x")), ""},
		"absolute-link":   {w.tree(w.link("l", "/etc/passwd")), ""},
		"escaping-link":   {w.tree(w.link("l", "../../../etc/passwd")), ""},
		"climbing-link":   {w.tree(w.link("l", "x/../../etc/passwd")), ""},
		"long-link":       {w.tree(w.link("l", strings.Repeat("../nowhere/", 300))), ""},
		"loop":            {w.tree(w.link("a", "b"), w.link("b", "a")), ""},
		"itself":          {w.tree(w.link("a", ".")), ""},
		"empty-link":      {w.tree(w.link("l", "")), ""},
		"device":          {w.tree(gitserver.TreeEntry{Mode: "60000", Name: "dev", ID: w.blob}), "is of mode"},
		"odd-mode":        {w.tree(gitserver.TreeEntry{Mode: "100664", Name: "a", ID: w.blob}), ""},
		"case":            {w.tree(w.file("A", "1"), w.file("a", "2")), "case only"},
		"case-of-folders": {w.tree(gitserver.TreeEntry{Mode: "40000", Name: "D", ID: w.tree(w.file("x", "1"))}, gitserver.TreeEntry{Mode: "40000", Name: "d", ID: w.tree(w.file("y", "2"))}), "case only"},
		"ten-million":     {w.nest(w.tree(w.file("a", "x"), w.file("b", "x"), w.file("c", "x")), 30, 5), "more than"},
		"folders-only":    {w.nest(w.tree(), 30, 5), "more than"},
		"deep":            {w.nest(w.tree(w.file("a", "x")), 1, 200), "deeper than"},
		"huge-blob":       {w.tree(w.file("a", strings.Repeat("x", 2<<20))), "more than 1048576 bytes"},
		"many-needs":      {w.nest(w.tree(gitserver.TreeEntry{Mode: "100644", Name: "requirements.yaml", ID: w.file("", "dependencies:\n- {name: x, repository: \"https://charts.example.test\"}\n").ID}), 30, 4), "more than 1000 references"},
		"one-base-often":  {w.nest(w.tree(remote), 30, 4), "git.example.test"},
		"refers-outside":  {w.tree(outside), ""},
		"yaml-bomb":       {w.tree(w.file("kustomization.yaml", "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nresources: *f\n")), ""},
		"reserved":        {w.tree(gitserver.TreeEntry{Mode: "40000", Name: ".axle", ID: w.tree(w.file("vendor.yaml", "version: 1\nbases: [{reference: x, path: ../../etc}]\n"))}), ""},
		"bad-chart":       {w.tree(w.file("Chart.yaml", "dependencies:\n- {name: ../../x, repository: \"https://charts.example.test\"}\n")), "a name that is not valid for a chart"},
		"chart-elsewhere": {w.tree(w.file("Chart.yaml", "dependencies:\n- {name: x, repository: \"https://169.254.169.254/\"}\n")), "internal"},
	}
	var top []gitserver.TreeEntry
	for name, tt := range tests {
		top = append(top, gitserver.TreeEntry{Mode: "40000", Name: name, ID: tt.tree})
	}
	top = append(top, gitserver.TreeEntry{Mode: "40000", Name: "good", ID: w.tree(w.file("cm.yaml", "2"))})
	sortEntries(top)
	id, err := w.git.CommitTree(t.Context(), repoName, w.tree(top...), "hostile")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.git.SetRef(t.Context(), repoName, "refs/heads/main", id); err != nil {
		t.Fatal(err)
	}
	w.mustRefresh()
	for name, tt := range tests {
		s := w.track("main", name)
		if tt.want == "" {
			h := w.head(s, good)
			// A link out of the repository is not in the tarball, but its name and reason are.
			if !strings.HasSuffix(name, "-link") {
				continue
			}
			if got := w.list(h); !slices.Equal(got, []string{vendored.Map}) {
				t.Errorf("%s: the tarball holds %v", name, got)
			} else if got := w.content(h, vendored.Map); !strings.Contains(got, "path: l\n") || !strings.Contains(got, "is a link") {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		h := w.head(s, bad)
		if !strings.Contains(h.Error, tt.want) || h.Digest != "" {
			t.Errorf("%s: error %q (%s), want %q", name, h.Error, h.ErrorCode, tt.want)
		}
		if h.ErrorCode != errcode.Unprocessable && name != "chart-elsewhere" && name != "one-base-often" {
			t.Errorf("%s: code %s", name, h.ErrorCode)
		}
	}
	if got := w.content(w.head(w.track("main", "good"), good), "cm.yaml"); got != "2" {
		t.Errorf("the others have %q", got)
	}
	if half, _ := filepath.Glob(filepath.Join(gitcache.Stored(w.cache), "*", "*tmp*")); len(half) != 0 {
		t.Errorf("half-written: %v", half)
	}
}

// sortEntries sorts as git wants trees: folders as if their names ended in a
// slash.
func sortEntries(entries []gitserver.TreeEntry) {
	for i := range entries {
		for j := i; j > 0 && entries[j].Name+"/" < entries[j-1].Name+"/"; j-- {
			entries[j], entries[j-1] = entries[j-1], entries[j]
		}
	}
}
