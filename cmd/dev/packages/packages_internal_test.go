package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scratch is a small module in a repository of its own.
type scratch struct {
	t    *testing.T
	root string
}

func newScratch(t *testing.T) *scratch {
	t.Helper()
	s := &scratch{t, t.TempDir()}
	for file, text := range map[string]string{
		"go.mod":                   "module github.com/axle-cd/axle\n\ngo 1.26\n",
		lists:                      "light internal/light\nheavy hub\nheavy agent\nplain test/** why\n",
		"internal/light/x_test.go": "package light\n",
		"internal/used/x.go":       "package used\n",
		"internal/used/y.go":       "package used\n",
		"internal/used/testdata/x": "1",
		"internal/tested/x.go":     "package tested\n",
		"hub/x.go":                 "package hub\n\nimport _ \"github.com/axle-cd/axle/internal/used\"\n",
		"hub/x_test.go":            "package hub_test\n\nimport _ \"github.com/axle-cd/axle/hub\"\n",
		"agent/x.go":               "package agent\n",
		"agent/x_test.go":          "package agent\n\nimport _ \"github.com/axle-cd/axle/internal/tested\"\n",
		"test/world/x_test.go":     "package world\n",
		"api/x.go":                 "package api\n",
		"docs/page.md":             "# Page\n",
	} {
		s.write(file, text)
	}
	s.git("init", "-q")
	s.commit()
	return s
}

func (s *scratch) write(file, text string) {
	s.t.Helper()
	path := filepath.Join(s.root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scratch) git(args ...string) string {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	command.Dir = s.root
	out, err := command.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *scratch) commit() {
	s.t.Helper()
	s.git("add", "--all")
	s.git("commit", "-q", "-m", "x", "--allow-empty")
}

func (s *scratch) load() *checkout {
	s.t.Helper()
	c, err := load(s.t.Context(), s.root)
	if err == nil {
		err = c.choose(s.t.Context())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func TestHeavyPackagesThatDifferAreRaced(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *scratch)
		want   string
	}{
		"nothing":                {func(*scratch) {}, ""},
		"only the record":        {func(s *scratch) { s.commit() }, ""},
		"itself":                 {func(s *scratch) { s.write("hub/x.go", "package hub\n") }, "hub"},
		"its test":               {func(s *scratch) { s.write("agent/x_test.go", "package agent\n") }, "agent"},
		"a new file of it":       {func(s *scratch) { s.write("hub/new.go", "package hub\n") }, "hub"},
		"an import":              {func(s *scratch) { s.write("internal/used/x.go", "package used\n\nvar A int\n"); s.commit() }, "hub"},
		"an import of its tests": {func(s *scratch) { s.write("internal/tested/x.go", "package tested\n\nvar A int\n") }, "agent"},
		"tests of an import":     {func(s *scratch) { s.write("internal/used/x_test.go", "package used\n") }, ""},
		"a removed file":         {func(s *scratch) { s.git("rm", "-q", "internal/used/y.go"); s.commit() }, "hub"},
		"a moved file":           {func(s *scratch) { s.git("mv", "internal/used/y.go", "docs/y.txt"); s.commit() }, "hub"},
		"data of an import":      {func(s *scratch) { s.write("internal/used/testdata/x", "2") }, "hub"},
		"no import":              {func(s *scratch) { s.write("api/x.go", "package api\n\nvar A int\n"); s.write("docs/page.md", "") }, ""},
		"a version":              {func(s *scratch) { s.write("go.mod", "module github.com/axle-cd/axle\n\ngo 1.25\n") }, "hub agent"},
		"the lists":              {func(s *scratch) { s.write(lists, "heavy agent\nheavy hub\n"); s.commit() }, "agent hub"},
		"the history": {func(s *scratch) {
			s.git("checkout", "-q", "--orphan", "other")
			s.commit()
		}, "hub agent"},
		"no commit": {func(s *scratch) { s.write(record, "0123456789012345678901234567890123456789\n") }, "hub agent"},
		"a name":    {func(s *scratch) { s.write(record, "HEAD\n") }, "hub agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScratch(t)
			s.write(record, s.git("rev-parse", "HEAD")+"\n")
			c.change(s)
			have := s.load()
			if got := strings.Join(have.heavy, " "); got != c.want {
				t.Errorf("raced: %q, want %q (%s)", got, c.want, have.why)
			}
		})
	}
}

func TestEachPackageIsInOneRun(t *testing.T) {
	s := newScratch(t)
	c := s.load()
	if want := []string{"hub", "agent", "internal/light"}; !slices.Equal(c.raced(), want) {
		t.Errorf("with no record, raced: %q, want %q", c.raced(), want)
	}
	s.write(record, s.git("rev-parse", "HEAD"))
	c = s.load()
	if want := []string{"internal/light"}; !slices.Equal(c.raced(), want) {
		t.Errorf("raced: %q, want %q", c.raced(), want)
	}
	if want := []string{"test/world", "agent", "api", "hub", "internal/tested", "internal/used"}; !slices.Equal(c.plain(), want) {
		t.Errorf("plain: %q, want %q", c.plain(), want)
	}
	if want := []string{"agent", "api", "hub", "internal/light", "internal/tested", "internal/used"}; !slices.Equal(c.all(), want) {
		t.Errorf("all: %q, want %q", c.all(), want)
	}
}

// What a test links decides, also through others: not what its package links, nor what is
// beside it.
func TestQuickPackagesStartNothing(t *testing.T) {
	s := newScratch(t)
	for _, starter := range starters {
		s.write(starter+"/x.go", "package x\n")
	}
	s.write("internal/tested/x.go", "package tested\n\nimport _ \"github.com/axle-cd/axle/test/program\"\n")
	s.write("api/x_test.go", "package api_test\n\nimport _ \"github.com/axle-cd/axle/test/bin\"\n")
	s.write("test/pg/x_test.go", "package x\n")
	quick, err := s.load().quick(t.Context())
	if want := []string{"test/world", "hub", "internal/light"}; err != nil || !slices.Equal(quick, want) {
		t.Errorf("quick: %q, %v, want %q", quick, err, want)
	}
}
