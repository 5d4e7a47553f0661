package bin_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/bin"
)

// program is the source of a program that shows what an agent's version is.
const program = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/axle-cd/axle/internal/buildinfo\"\n)\n\nfunc main() { fmt.Println(word+pages, buildinfo.Version) }\n"

// checkout is a small checkout that is the working folder of the test: this package, a
// program, and a package whose test starts it and another that reads a file.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "test", "bin"), os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":                          "module github.com/axle-cd/axle\n\ngo 1.26\n",
		"internal/buildinfo/buildinfo.go": "package buildinfo\n\nvar Version = \"v0\"\n",
		"cmd/hello/main.go":               program,
		"cmd/hello/quiet.go":              "//go:build !loud\n\npackage main\n\nconst word = \"hello\"\n",
		"cmd/hello/loud.go":               "//go:build loud\n\npackage main\n\nconst word = \"HELLO\"\n",
		"cmd/hello/pages.go":              "//go:build !nopages\n\npackage main\n\nconst pages = \" with pages\"\n",
		"cmd/hello/nopages.go":            "//go:build nopages\n\npackage main\n\nconst pages = \"\"\n",
		"read/file.txt":                   "one",
		"starts/starts_test.go": `package starts

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/axle-cd/axle/test/bin"
)

func TestStarts(t *testing.T) {
	path, err := bin.Path(t.Context(), "hello", bin.Options{})
	if err == nil {
		err = bin.Inputs("read")
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		err = exec.CommandContext(t.Context(), "sh", "-c", path).Run()
	}
	if err != nil {
		t.Fatal(err)
	}
}
`,
	} {
		write(t, filepath.Join(root, name), text)
	}
	t.Chdir(root)
	t.Setenv("AXLE_PROGRAMS", "")
	bin.Forget()
	return root
}

// write writes a file that is old enough to be cached as an input.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	aged(t, file)()
}

// aged makes a file as old as those of write.
func aged(t *testing.T, file string) func() {
	return func() {
		t.Helper()
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// hello builds the program as another process would, and returns its file.
func hello(t *testing.T, o bin.Options) string {
	t.Helper()
	bin.Forget()
	path, err := bin.Path(t.Context(), "hello", o)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOptionsMakeDifferentPrograms(t *testing.T) {
	checkout(t)
	for name, test := range map[string]struct {
		options bin.Options
		want    string
	}{
		"plain":          {bin.Options{}, "hello v0"},
		"by its version": {bin.Options{Version: "v1.2.3"}, "hello v1.2.3"},
		"by its tags":    {bin.Options{Version: "v1.2.3", Tags: []string{"loud"}}, "HELLO v1.2.3"},
		"with pages":     {bin.Options{Pages: bin.Shipped}, "hello with pages v0"},
		"by both":        {bin.Options{Version: "v4", Tags: []string{"loud"}}, "HELLO v4"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), hello(t, test.options)).Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != test.want {
				t.Errorf("it says %q (%v), want %q", got, err, test.want)
			}
		})
	}
	code, err := os.ReadFile(hello(t, bin.Options{Target: "wasip1/wasm"}))
	if err != nil || !bytes.HasPrefix(code, []byte("\x00asm")) {
		t.Errorf("for another target it begins with %q, %v", code[:min(4, len(code))], err)
	}
}

func TestSecondCallBuildsNothing(t *testing.T) {
	checkout(t)
	first := hello(t, bin.Options{})
	t.Setenv("PATH", "") // where go is not to be found
	second, err := bin.Path(t.Context(), "hello", bin.Options{})
	if err != nil || second != first {
		t.Errorf("the second call gives %q, %v; want %q", second, err, first)
	}
	if _, err := os.Stat(second); err != nil {
		t.Error(err)
	}
}

// A program has the time of its content, and one that runs keeps its file.
func TestTimeIsOfTheContent(t *testing.T) {
	root := checkout(t)
	state := func() (time.Time, *os.File) {
		t.Helper()
		f, err := os.Open(hello(t, bin.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime(), f
	}
	same := func(a, b *os.File) bool {
		t.Helper()
		x, err := a.Stat()
		y, other := b.Stat()
		if err != nil || other != nil {
			t.Fatal(err, other)
		}
		return os.SameFile(x, y)
	}
	first, running := state()
	if again, file := state(); !again.Equal(first) || !same(running, file) {
		t.Errorf("the unchanged program is of %v and not %v, or another file", again, first)
	}
	write(t, filepath.Join(root, "cmd", "hello", "quiet.go"), "//go:build !loud\n\npackage main\n\nconst word = \"jello\"\n")
	if changed, file := state(); changed.Equal(first) || same(running, file) {
		t.Errorf("the changed program is still of %v, or the same file", changed)
	}
	write(t, filepath.Join(root, "cmd", "hello", "quiet.go"), "//go:build !loud\n\npackage main\n\nconst word = \"hello\"\n")
	if back, _ := state(); !back.Equal(first) {
		t.Errorf("the program of before is of %v and not %v", back, first)
	}
}

func TestCompilerIsQuoted(t *testing.T) {
	checkout(t)
	_, err := bin.Path(t.Context(), "no-such-program", bin.Options{})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") || !strings.Contains(err.Error(), "directory not found") {
		t.Errorf("the error is %v", err)
	}
}

// A cached result is one of the program and the files that are there.
func TestCacheIsTrue(t *testing.T) {
	root := checkout(t)
	const (
		runs   = `^ok  .*starts\t[0-9.]+s`
		cached = `^ok  .*starts\t\(cached\)`
		fails  = "exit status 2"
	)
	change := func(file, text string) func() {
		return func() { write(t, filepath.Join(root, file), text) }
	}
	for _, step := range []struct {
		name string
		do   func()
		made bool // by make, which has built what is there
		want string
	}{
		{"the first by hand", nil, false, runs},
		{"by hand nothing is cached", aged(t, filepath.Join(root, "bin", "test", "lock")), false, runs},
		{"the first of make", nil, true, runs},
		{"the second of make", nil, true, cached},
		{"by hand after make", nil, false, runs},
		{"the program panics, by hand", change("cmd/hello/main.go", strings.Replace(program, "main() {", "main() { panic(1);", 1)), false, fails},
		{"the program panics", nil, true, fails},
		{"the program works again, by hand", change("cmd/hello/main.go", program), false, runs},
		{"the program works again", nil, true, cached},
		{"what the program reads changes", change("read/file.txt", "other"), true, runs},
		{"and stays", nil, true, cached},
		{"a file more", change("read/more.txt", "more"), true, runs},
		{"the program is not there", func() { os.RemoveAll(filepath.Join(root, "bin", "test", "plain")) }, true, "add it to List in test/bin/list.go"},
	} {
		if step.do != nil {
			step.do()
		}
		c := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "./starts")
		c.Env = append(os.Environ(), "AXLE_PROGRAMS=")
		if step.made {
			c.Env = append(c.Env, "AXLE_PROGRAMS=built")
		}
		out, err := c.CombinedOutput()
		if (err != nil) == strings.HasPrefix(step.want, "^ok") || !regexp.MustCompile(step.want).Match(out) {
			t.Errorf("%s: %v, want %q:\n%s", step.name, err, step.want, out)
		}
	}
}
