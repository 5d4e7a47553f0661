package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/soak"
)

// played is what testdata/tests/servers starts.
const played = "played-server"

// TestMain is the command itself in processes that the tests start.
func TestMain(m *testing.M) {
	if os.Getenv("SUITE_COMMAND") != "" {
		apiServer = played
		main()
	}
	os.Exit(m.Run())
}

// module is a copy of testdata/tests, whose tests fail in different ways.
type module struct {
	t     *testing.T
	dir   string
	state string
}

func newModule(t *testing.T) *module {
	m := &module{t, t.TempDir(), t.TempDir()}
	if err := os.CopyFS(m.dir, os.DirFS("testdata/tests")); err != nil {
		t.Fatal(err)
	}
	return m
}

// suite runs the command in the module and returns what it printed and its exit code.
func (m *module) suite(args ...string) (string, int) {
	m.t.Helper()
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.CommandContext(m.t.Context(), self, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "SUITE_COMMAND=1", "STATE="+m.state, "GOFLAGS=-trimpath -buildvcs=false", "CGO_ENABLED=0", "AXLE_SUITE_RUN=css")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (m *module) record() *record {
	m.t.Helper()
	m.t.Chdir(m.dir)
	r, err := readRecord()
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

// Each way to fail has its own answer, and only a test that passes when it runs by itself,
// and that the list knows, is let through.
func TestFailuresAreToldApart(t *testing.T) {
	m := newModule(t)
	out, code := m.suite("plain", "--", "go", "test", "-vet=off", "-timeout=10s", "./always", "./good", "./lasting", "./listed", "./once", "./panics", "./races", "./silent", "./unbuilt")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	for name, want := range map[string]string{
		"a package that passed":  "ok  \texample.com/tests/good\t",
		"a failure is printed":   "--- FAIL: TestAlways",
		"its output follows it":  "--- FAIL: TestAlways (0.00s)\n    always_test.go:5: every run fails",
		"the compiler":           "undefined: undefined",
		"an unlisted flake":      "FAIL: flaky, and not on the list test/flakes.txt: example.com/tests/once TestOnce\n",
		"a listed flake":         "\nflaky, as test/flakes.txt has it: example.com/tests/listed TestListed\n",
		"its first output":       "FLAKY: example.com/tests/once TestOnce\nIts first run:\n  | --- FAIL: TestOnce (0.00s)\n  | --- FAIL: TestOnce/sub (0.00s)\n  |     once_test.go:17: the first run fails",
		"its second output":      "Its second run, by itself:\n  | PASS\n  | ok  \texample.com/tests/once\t",
		"a failure twice":        "FAIL: example.com/tests/always TestAlways: it failed twice\n  Run it: go test -vet=off -timeout=10s '-run=^TestAlways$' -count=1 example.com/tests/always\n  | --- FAIL: TestAlways (0.00s)\n  |     always_test.go:5: every run fails\n",
		"a panic":                "FAIL: example.com/tests/panics TestPanics: its tests did not all run",
		"what lasts":             "FAIL: example.com/tests/lasting: its tests did not all run",
		"what is not built":      "FAIL: example.com/tests/unbuilt: its tests did not all run",
		"a race":                 "FAIL: example.com/tests/races TestRaces: a data race is one even if the next run passes",
		"a package without name": "FAIL: example.com/tests/silent: no test of it failed",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s: nothing has %q", name, want)
		}
	}
	for _, no := range []string{"nobody", "=== RUN", "this passes"} {
		if strings.Contains(out, no) {
			t.Errorf("%q is printed", no)
		}
	}
	if n := strings.Count(out, "== once more"); n != 3 {
		t.Errorf("%d tests were run again, want TestAlways, TestListed and TestOnce", n)
	}
	if t.Failed() {
		t.Log(out)
	}
}

// The end of a run repeats the last lines of a long output, or those after a word that begins the reason.
func TestWhyIsShort(t *testing.T) {
	said := strings.Repeat("    on the way\n", 50)
	for output, want := range map[string]string{
		"":                                      "",
		"--- FAIL\n":                            "--- FAIL\n",
		said + "    it ends with 1\n":           strings.Repeat("    on the way\n", mostWhy-1) + "    it ends with 1\n",
		said + "    not ok 1 - a name\n" + said: "    not ok 1 - a name\n" + strings.Repeat("    on the way\n", mostWhy-1),
		"    not ok 1":                          "    not ok 1\n",
		said + "panic: boom\n" + said:           "panic: boom\n" + strings.Repeat("    on the way\n", mostWhy-1),
	} {
		if have := why(output); have != want {
			t.Errorf("of %d bytes it is %q, want %q", len(output), have, want)
		}
	}
}

// A data race that is printed while a test passes is printed with the package.
func TestReportOfAPassingTestIsKept(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: &out, packages: map[string]*result{}}
	for _, e := range []event{
		{Action: "output", Package: "a", Test: "TestBeside", Output: "    on the way\n"},
		{Action: "output", Package: "a", Test: "TestBeside", Output: dataRace + "\n"},
		{Action: "output", Package: "a", Test: "TestBeside", Output: "  of another one\n"},
		{Action: "pass", Package: "a", Test: "TestBeside"},
		{Action: "output", Package: "a", Output: "FAIL\n"},
		{Action: "fail", Package: "a"},
	} {
		p.take(e)
	}
	failures := judge(goTest{}, p.packages["a"])
	want := dataRace + "\n  of another one\nFAIL\n"
	if !strings.Contains(out.String(), want) || len(failures) != 1 || failures[0].why != want {
		t.Errorf("printed %q, %+v", out.String(), failures)
	}
}

// A flake that is not on the list fails a run that has no other failure.
func TestUnlistedFlakeFailsTheRun(t *testing.T) {
	m := newModule(t)
	out, code := m.suite("plain", "--", "go", "test", "-vet=off", "./listed", "./once")
	if code != 1 || strings.Count(out, "\nFLAKY: ") != 2 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if s := m.record().Steps; len(s) != 1 || !s[0].Failed {
		t.Errorf("recorded: %+v", s)
	}
}

func TestListedFlakeIsLetThrough(t *testing.T) {
	m := newModule(t)
	out, code := m.suite("plain", "--", "go", "test", "-vet=off", "-run=/", "./good", "./listed")
	if code != 0 || !strings.Contains(out, "'-run=^TestListed$/' -count=1") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	m.suite("plain", "--", "go", "test", "-vet=off", "./good", "./listed")
	s := m.record().Steps
	if len(s) != 1 || len(s[0].Flaky) != 1 || s[0].TestBinaries+s[0].Cached != 4 || s[0].Failed {
		t.Errorf("recorded: %+v", s)
	}
	if out, code := m.suite("plain", "--", "go", "test", "-timeout", "1s", "./good"); code != 2 || !strings.Contains(out, "-flag=value") {
		t.Errorf("flags that are not recognised: exit code %d\n%s", code, out)
	}
	if out, code := m.suite("plain", "--", "go", "test", "./nowhere"); code == 0 {
		t.Errorf("nothing to test: exit code %d\n%s", code, out)
	}
}

// When the code is broken, running everything again would double the time.
func TestManyFailuresAreNotRunAgain(t *testing.T) {
	m := newModule(t)
	var tests strings.Builder
	for _, c := range "ABCDEFGHIJK" {
		tests.WriteString("func Test" + string(c) + "(t *testing.T) { t.Error() }\n")
	}
	if err := os.WriteFile(filepath.Join(m.dir, "good", "many_test.go"), []byte("package good\nimport \"testing\"\n"+tests.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := m.suite("plain", "--", "go", "test", "-vet=off", "./good")
	if code != 1 || strings.Contains(out, "once more") || !strings.Contains(out, "11 tests failed") || !strings.Contains(out, "FAIL: example.com/tests/good TestK: it failed\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// A step that is no go test says how to run it, quoted, and the record may be elsewhere.
func TestFailedStepSaysHowToRunIt(t *testing.T) {
	m := newModule(t)
	t.Setenv("AXLE_SUITE_RECORD", "other.json")
	if out, code := m.suite("lint", "--", "sh", "-c", "exit 3"); code != 3 || !strings.Contains(out, "\nFAIL: lint\n  Run it: sh -c 'exit 3'\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	t.Setenv("AXLE_SOAK", "1")
	if out, code := m.suite("soak", "--", "go", "test", "-vet=off", "./always"); code != 1 || !strings.Contains(out, "\n  Run it: AXLE_SOAK=1 go test ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if out, code := m.suite("lint", "--", "true"); code != 0 || out != "" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "other.json")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(m.dir, "bin")); err == nil {
		t.Error("the record of the suite is written as well")
	}
}

// A run of one commit is a line, with what failed; what nobody could run again is none.
func TestRunOfSoakIsRecorded(t *testing.T) {
	m := newModule(t)
	git := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		command.Dir = m.dir
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	refused := func(want string) {
		t.Helper()
		if out, code := m.suite("soaked"); code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q\n%s", code, want, out)
		}
	}
	if err := os.WriteFile(filepath.Join(m.dir, ".gitignore"), []byte("/bin/\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("add", "--all")
	git("commit", "-q", "-m", "a")
	commit := git("rev-parse", "HEAD")
	m.suite("start")
	refused("no step ran")
	m.suite("world", "--", "true")
	m.suite("install", "--", "false")
	if out, code := m.suite("soaked"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	runs, err := soak.Read(m.dir)
	if err != nil || len(runs) != 1 || runs[0].Passed || runs[0].Commit != commit || strings.Join(runs[0].Steps, " ") != "world !install" {
		t.Errorf("%v, %v", runs, err)
	}
	if out, code := m.suite("due"); code != 1 || !strings.Contains(out, "soak is due: test/soak-record.txt has no run that passed") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	git("add", "--all")
	git("commit", "-q", "-m", "b")
	refused("is checked out now")
	m.suite("start")
	m.suite("world", "--", "true")
	if out, code := m.suite("soaked"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if out, code := m.suite("due"); code != 0 || out != "" {
		t.Errorf("exit code %d\n%s", code, out)
	}
	m.suite("start") // the record of soak runs is not committed
	m.suite("world", "--", "true")
	refused("the checkout had changes")
	if err := os.Remove(filepath.Join(m.dir, soak.File)); err != nil {
		t.Fatal(err)
	}
	if out, code := m.suite("due"); code != 0 || !strings.Contains(out, "\nsoak is due: no run is recorded") {
		t.Errorf("no record fails nothing: exit code %d\n%s", code, out)
	}
}

// What a test started counts for it, and for the step even if nobody waited for it.
func TestProcessesAreMeasured(t *testing.T) {
	m := newModule(t)
	out, code := m.suite("plain", "--", "go", "test", "-vet=off", "./servers")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	// The inner shell ends before what it started, which holds the output open.
	orphan := `out=$(sh -c '"$STATE/` + played + `" & exit'); echo axe >> "$AXLE_SUITE_COUNTS"; echo axe >> "$AXLE_SUITE_COUNTS"; exit 3`
	if out, code := m.suite("other", "--", "sh", "-c", orphan); code != 3 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	r := m.record()
	if len(r.Steps) != 2 || r.Kind != "css" || r.Steps[1].Axe != 2 || !r.Steps[1].Failed {
		t.Fatalf("recorded: %+v", r)
	}
	servers, tests := r.Steps[0].Programs[played], r.Steps[0].Folders["servers"]
	if servers.Started < 2 || servers.CPU < 0.5 {
		t.Errorf("%s: %+v", played, servers)
	}
	if tests.APIServers < 2 || tests.CPU < 0.5 {
		t.Errorf("tests: %+v", tests)
	}
	if o := r.Steps[1]; o.CPU < 0.5 || o.Programs[played].Started != 1 {
		t.Errorf("an orphan is not counted: %+v", o)
	}
	sum := 0.0
	for _, u := range r.Steps[0].Programs {
		sum += u.CPU
	}
	if d := sum - r.Steps[0].CPU; d > 0.5 || d < -0.5 {
		t.Errorf("programs are %.2f CPU-s, the step %.2f", sum, r.Steps[0].CPU)
	}
	out, _ = m.suite("table")
	for _, want := range []string{"step", "other", " failed\n", played, "servers"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table has no %q:\n%s", want, out)
		}
	}
}

// A run whose results were all cached is over before the machine would be measured.
func TestNothingRanSoNothingIsMeasured(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", "") // where go would be
	of := recordFile
	recordFile = "bin/suite.json"
	t.Cleanup(func() { recordFile = of })
	for _, ran := range []int{0, 1} {
		r := &record{Steps: []step{{Name: "plain", Cached: 3, TestBinaries: ran}}}
		if err := r.write(); err != nil {
			t.Fatal(err)
		}
		if err := calibrate(); (err != nil) != (ran > 0) {
			t.Errorf("with %d test binaries: %v", ran, err)
		}
	}
}
