package up

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
)

// repository is one that axle up made, in a folder, and what a person does there.
type repository struct {
	git
	t *testing.T
	b *builder
}

func generated(t *testing.T) *repository {
	t.Helper()
	return generatedFor(t, "none")
}

func generatedFor(t *testing.T, workload string) *repository {
	t.Helper()
	a := exampleAnswers()
	a.OwnValues, a.Workload = true, workload
	from, err := skeleton()
	must(t, err)
	files, err := render(from, a, []byte("url: https://axle.example.com\n\n\n"))
	must(t, err)
	b := &builder{app: &command.App{Streams: command.Streams{Err: &bytes.Buffer{}}}, dir: t.TempDir(), answers: a, files: files}
	b.git = git{dir: b.dir}
	b.remote.branch = true // nothing is pushed
	must(t, b.generate(t.Context()))
	must(t, b.commit(t.Context()))
	r := &repository{git{b.dir, identity(a)}, t, b}
	if have := r.do("status", "--porcelain"); have != "" {
		t.Fatalf("after the first commit: %s", have)
	}
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *repository) do(args ...string) string {
	r.t.Helper()
	out, err := r.run(r.t.Context(), args...)
	must(r.t, err)
	return out
}

func (r *repository) file(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	must(r.t, err)
	return string(text)
}

// commits changes a file as a person would; an empty text deletes it.
func (r *repository) commits(name, old, text string) {
	r.t.Helper()
	if text == "" {
		r.do("rm", "--quiet", name)
	} else {
		have := r.file(name)
		if !strings.Contains(have, old) {
			r.t.Fatalf("%s has no %q", name, old)
		}
		must(r.t, os.WriteFile(filepath.Join(r.dir, name), []byte(strings.Replace(have, old, text, 1)), 0o600))
	}
	r.do("commit", "--quiet", "--all", "-m", "mine")
}

// newer is the skeleton with changes: a file's new text by its name.
func newer(t *testing.T, change map[string]func(string) string) fs.FS {
	t.Helper()
	from, err := skeleton()
	must(t, err)
	out := fstest.MapFS{}
	must(t, fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		out[name] = &fstest.MapFile{Data: text}
		return err
	}))
	for name, with := range change {
		text := ""
		if have := out[name]; have != nil {
			text = string(have.Data)
		}
		out[name] = &fstest.MapFile{Data: []byte(with(text))}
	}
	return out
}

func (r *repository) upgrade(from fs.FS, version string) (string, error) {
	r.t.Helper()
	var out bytes.Buffer
	u := &upgrader{app: &command.App{Streams: command.Streams{Out: &out, Err: &out}}, dir: r.dir, from: from, version: version}
	err := u.upgrade(r.t.Context())
	return out.String(), err
}

func with(old, text string) func(string) string {
	return func(have string) string { return strings.Replace(have, old, text, 1) }
}

// What people changed and deleted stays, what the newer skeleton changed comes, and the
// next upgrade begins from there.
func TestUpgradeMergesOverEdits(t *testing.T) {
	r := generated(t)
	r.commits("values/hello.yaml", "replicas: 2", "replicas: 5")
	r.commits("README.md", "## A colleague", "## A dear colleague")
	r.commits("services/hello/values.yaml", "", "")
	r.commits(hubValues, "url:", "# mine\nurl:")
	from := newer(t, map[string]func(string) string{
		"README.md":                   with("## Secrets", "## No secrets"),
		"services/hello/Chart.yaml":   with("0.1.0", "0.2.0"),
		"bootstrap/projects/new.yaml": func(string) string { return "# of [[.Name]]\n" },
	})
	out, err := r.upgrade(from, "1.5.0")
	if err != nil || !strings.Contains(out, "axle-up/1.5.0") {
		t.Fatal(out, err)
	}
	if main := r.do("show", "main:services/hello/Chart.yaml"); !strings.Contains(main, "0.1.0") {
		t.Error("main was changed")
	}
	for name, want := range map[string]string{
		"values/hello.yaml": "replicas: 5", "README.md": "## A dear colleague", hubValues: "# mine", answersFile: "version: 1.5.0",
		"services/hello/Chart.yaml": "0.2.0", "bootstrap/projects/new.yaml": "# of fleet",
	} {
		if have := r.file(name); !strings.Contains(have, want) {
			t.Errorf("%s has no %q:\n%s", name, want, have)
		}
	}
	if !strings.Contains(r.file("README.md"), "## No secrets") {
		t.Error("README.md has not what the skeleton changed")
	}
	if _, err := os.Stat(filepath.Join(r.dir, "services/hello/values.yaml")); err == nil {
		t.Error("a deleted file is back")
	}

	if out, err := r.upgrade(from, "1.5.0"); err != nil || !strings.Contains(out, "already") {
		t.Errorf("once more: %s %v", out, err)
	}
	if out, err := r.upgrade(newer(t, map[string]func(string) string{"root.yaml": with("# The root:", "# The very root:")}), "1.6.0"); err != nil || !strings.Contains(r.file("root.yaml"), "very root") || !strings.Contains(r.file("values/hello.yaml"), "replicas: 5") {
		t.Errorf("the next one: %s %v", out, err)
	}
}

// What both changed is a conflict that names the file and the ways on and back; a folder
// with changes, and one of somebody else, are refused and left as they are.
func TestUpgradeThatCannotMerge(t *testing.T) {
	r := generated(t)
	r.commits("values/hello.yaml", "replicas: 2", "replicas: 5")
	from := newer(t, map[string]func(string) string{"values/hello.yaml": with("replicas: 2", "replicas: 4")})

	must(t, os.WriteFile(filepath.Join(r.dir, "root.yaml"), []byte("mine"), 0o600))
	if _, err := r.upgrade(from, "1.5.0"); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "not committed") || r.file("root.yaml") != "mine" {
		t.Errorf("with changes: %v", err)
	}
	r.do("checkout", "--quiet", "root.yaml")
	_, err := r.upgrade(from, "1.5.0")
	if !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "values/hello.yaml") || !strings.Contains(err.Error(), "git merge --abort") {
		t.Errorf("a conflict: %v", err)
	}
	r.do("merge", "--abort")
	r.do("switch", "--quiet", "main")
	if _, err := r.upgrade(from, "1.5.0"); !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), "git branch -D axle-up/1.5.0") {
		t.Errorf("with the branch: %v", err)
	}

	// A file that Git does not know stands where the newer skeleton has one.
	must(t, os.WriteFile(filepath.Join(r.dir, "services/new.yaml"), []byte("mine"), 0o600))
	_, err = r.upgrade(newer(t, map[string]func(string) string{"services/new.yaml": func(string) string { return "theirs\n" }}), "1.7.0")
	if err == nil || r.file("services/new.yaml") != "mine" || r.do("rev-parse", "--abbrev-ref", "HEAD") != "main" || r.is(t.Context(), "rev-parse", "--verify", "--quiet", "axle-up/1.7.0") {
		t.Errorf("over a file of somebody: %v, on %s", err, r.do("rev-parse", "--abbrev-ref", "HEAD"))
	}

	r.git.dir = t.TempDir()
	if _, err := r.upgrade(from, "1.5.0"); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("elsewhere: %v", err)
	}
}

// A repository that declares clusters has those of its answers in a newer skeleton too, and
// what people changed of them and of their template stays.
func TestUpgradeKeepsTheClustersThatAreDeclared(t *testing.T) {
	r := generatedFor(t, "bed")
	r.commits("bootstrap/clusters/dev.yaml", "count: 1", "count: 3")
	r.commits("bootstrap/clusters/prod.yaml", "", "")
	r.commits("clusters/bed/schema.json", `"enum": ["eu", "us"]`, `"enum": ["eu", "us", "ap"]`)
	out, err := r.upgrade(newer(t, map[string]func(string) string{
		"bootstrap/clusters/dev.yaml":   with("tags: {", "tags: {team: mine, "),
		"bootstrap/clusters/third.yaml": func(string) string { return "[[if .Made]]# of [[.Workload]]\n[[end]]" },
		"bootstrap/projects/none.yaml":  func(string) string { return "[[if not .Made]]# none\n[[end]]" },
	}), "1.5.0")
	if err != nil {
		t.Fatal(out, err)
	}
	for name, want := range map[string]string{
		"bootstrap/clusters/dev.yaml": "team: mine", "bootstrap/clusters/third.yaml": "# of bed", "clusters/bed/schema.json": `"ap"`, answersFile: "workload: bed",
	} {
		if have := r.file(name); !strings.Contains(have, want) {
			t.Errorf("%s has no %q:\n%s", name, want, have)
		}
	}
	if have := r.file("bootstrap/clusters/dev.yaml"); !strings.Contains(have, "count: 3") {
		t.Errorf("the size of the pool is lost:\n%s", have)
	}
	for _, name := range []string{"bootstrap/clusters/prod.yaml", "bootstrap/projects/none.yaml"} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}
