package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// mostAgain is how many tests are run again at most: when more failed, the code is broken.
const mostAgain = 10

// goTest is one go test: its flags and what it tests.
type goTest struct {
	flags, packages []string
}

// parseGoTest takes a command line apart, which begins with "go test". Flags stand before
// the packages and contain their values, so that nothing has to be known about them.
func parseGoTest(command []string) (goTest, error) {
	args := command[2:]
	n := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	if n < 0 {
		n = len(args)
	}
	if i := slices.IndexFunc(args[n:], func(a string) bool { return !strings.HasPrefix(a, ".") }); i >= 0 {
		return goTest{}, fmt.Errorf("%q is no package below this folder: write flags of go test as -flag=value, before the packages, which begin with ./", args[n+i])
	}
	return goTest{flags: args[:n], packages: args[n:]}, nil
}

// again is the command line that runs one failed test. Of a -run that names subtests, these
// stay.
func (g goTest) again(pkg, name string) []string {
	pattern := "^" + regexp.QuoteMeta(name) + "$"
	args := []string{"go", "test"}
	for _, f := range g.flags {
		value, isRun := strings.CutPrefix(strings.TrimLeft(f, "-"), "run=")
		if !isRun {
			args = append(args, f)
		} else if _, below, ok := strings.Cut(value, "/"); ok {
			pattern += "/" + below
		}
	}
	return append(args, "-run="+pattern, "-count=1", pkg)
}

// goTest runs a go test and prints its progress.
func (m *meter) goTest(command []string) (map[string]*result, []string, int, error) {
	p := &printer{out: os.Stdout, packages: map[string]*result{}}
	args := append([]string{"go", "test", "-json"}, command[2:]...)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, 1, err
	}
	defer r.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, w, os.Stderr
	wait, err := m.start(cmd)
	w.Close()
	if err != nil {
		return nil, nil, 1, err
	}
	err = p.read(r)
	code, waited := wait()
	return p.packages, p.order, code, errors.Join(err, waited)
}

// outcome is what is known about one failure after the second run.
type outcome struct {
	pkg, test   string
	flaky       bool // it passed the second time
	known       bool // and is on the list
	note, again string
	why         string // the part of its first run's output that has the reason
}

// goTestStep runs a go test, and the tests that failed once more.
func (m *meter) goTestStep(s *step, command []string) (int, error) {
	g, err := parseGoTest(command)
	if err != nil {
		return 2, err
	}
	known, err := readFlakes(flakesFile)
	if err != nil {
		return 2, err
	}
	packages, order, code, err := m.goTest(command)
	if err != nil {
		return code, err
	}
	s.count(packages)
	var failures []outcome
	for _, name := range order {
		failures = append(failures, judge(g, packages[name])...)
	}
	if code == 0 {
		return 0, nil
	}
	if len(failures) == 0 {
		return code, nil // go said why
	}
	if len(failures) <= mostAgain {
		for i := range failures {
			if err := m.second(g, known, packages[failures[i].pkg], &failures[i]); err != nil {
				return code, err
			}
		}
	} else {
		fmt.Printf("\n%d tests failed; as more than %d did, none is run again\n", len(failures), mostAgain)
	}
	return verdict(s, failures), nil
}

// judge lists the failures of a package. Those with a note are final.
func judge(g goTest, r *result) []outcome {
	if r.state == "pass" || r.state == "skip" {
		return nil
	}
	names := r.failed()
	note := ""
	switch {
	case r.state == "":
		note = "go test ended before the package did"
	case !r.complete:
		note = "its tests did not all run: it was not built, a panic took the process, or the time was over"
	case r.raced:
		note = "a data race is one even if the next run passes"
	case len(names) == 0:
		note = "no test of it failed, so that there is none to run again"
	}
	if note != "" {
		return []outcome{{pkg: r.name, test: strings.Join(names, " "), note: note, again: strings.Join(append(append([]string{"go", "test"}, g.flags...), r.name), " "), why: why(r.failure())}}
	}
	var list []outcome
	for _, name := range names {
		list = append(list, outcome{pkg: r.name, test: name, again: shell(g.again(r.name, name)), why: why(r.output(name))})
	}
	return list
}

// second runs a failed test once more and prints both outputs when it passes.
func (m *meter) second(g goTest, known map[string]string, first *result, f *outcome) error {
	if f.note != "" {
		return nil
	}
	fmt.Printf("\n== once more, by itself: %s\n", f.again)
	packages, _, code, err := m.goTest(g.again(f.pkg, f.test))
	if err != nil {
		return err
	}
	second := packages[f.pkg]
	if code != 0 || second == nil || second.state != "pass" {
		f.note = "it failed twice"
		return nil
	}
	f.flaky = true
	_, f.known = known[f.pkg+" "+f.test]
	fmt.Printf("FLAKY: %s %s\nIts first run:\n%s\nIts second run, by itself:\n%s", f.pkg, f.test, indent(first.output(f.test)), indent(second.own.String()))
	return nil
}

// verdict prints how the failures are judged and returns the exit code.
func verdict(s *step, failures []outcome) int {
	code := 0
	fmt.Println()
	for _, f := range failures {
		name := strings.TrimSpace(f.pkg + " " + f.test)
		switch {
		case f.flaky && f.known:
			s.Flaky = append(s.Flaky, name)
			fmt.Printf("flaky, as %s has it: %s\n", flakesFile, name)
			continue // its outputs are printed already
		case f.flaky:
			code = 1
			fmt.Printf("FAIL: flaky, and not on the list %s: %s\n  It most likely waits for one effect and reads another once: wait for the state that it asserts (internal/eventually).\n  Run it until it is mended: go test -count=20 -run='^%s$' %s\n", flakesFile, name, f.test, f.pkg)
		default:
			code = 1
			if f.note == "" {
				f.note = "it failed"
			}
			fmt.Printf("FAIL: %s: %s\n  Run it: %s\n", name, f.note, f.again)
		}
		fmt.Print(indent(f.why))
	}
	return code
}

// mostWhy is how many lines of an output are repeated where the run ends, for readers who have only the end of its log.
const mostWhy = 12

// reasons begin the lines that have the reason of a failure: of a test in a browser, a data race and a panic.
var reasons = []string{" not ok ", dataRace, "panic: "}

// why is the part of an output that has the reason of a failure: the lines after the first such word, else the last lines.
func why(output string) string {
	lines := strings.SplitAfter(strings.TrimRight(output, "\n"), "\n")
	from := max(0, len(lines)-mostWhy)
	if i := slices.IndexFunc(lines, func(line string) bool {
		return slices.ContainsFunc(reasons, func(word string) bool { return strings.Contains(line, word) })
	}); i >= 0 {
		from = i
	}
	part := strings.Join(lines[from:min(from+mostWhy, len(lines))], "")
	if part != "" && !strings.HasSuffix(part, "\n") {
		part += "\n"
	}
	return part
}

// indent keeps an output out of the way of those who search a log for failures.
func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  | " + line)
	}
	return b.String()
}

// shell quotes a command line for people to paste.
func shell(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if strings.ContainsAny(a, "^$()|*?'\" ") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	line := strings.Join(quoted, " ")
	if soak := os.Getenv("AXLE_SOAK"); soak != "" {
		return "AXLE_SOAK=" + soak + " " + line // tests are longer with it
	}
	return line
}
