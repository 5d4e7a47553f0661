package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// result is how the tests of one package ended.
type result struct {
	name   string
	state  string // pass, fail or skip; empty while it runs
	cached bool
	// complete: the binary ran all of its tests, none took the process with it.
	complete bool
	// raced: the race detector reported something.
	raced bool
	own   text // what belongs to no test
	tests map[string]*test
	order []string
}

// test is a test or a subtest.
type test struct {
	state   string // empty: it began and never ended
	verdict string // its line of --- FAIL
	output  text
}

// printer turns events into the lines that go test prints without -json.
type printer struct {
	out      io.Writer
	packages map[string]*result
	order    []string
}

// read takes all events. What is no event is printed as it is.
func (p *printer) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(p.out, line)
			} else {
				p.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (p *printer) take(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(p.out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	r := p.packages[e.Package]
	if r == nil {
		r = &result{name: e.Package, tests: map[string]*test{}}
		p.packages[e.Package] = r
		p.order = append(p.order, e.Package)
	}
	if e.Test != "" {
		r.take(e)
		return
	}
	switch e.Action {
	case "output":
		r.summary(e.Output)
	case "pass", "fail", "skip":
		r.state = e.Action
		r.print(p.out)
	}
}

// summary takes a line that belongs to no test.
func (r *result) summary(line string) {
	r.complete = r.complete || line == "FAIL\n" || line == "PASS\n"
	r.cached = r.cached || strings.HasPrefix(line, "ok") && strings.Contains(line, "\t(cached)")
	r.raced = r.raced || strings.Contains(line, dataRace)
	r.own.add(line)
}

// dataRace is how a report of the race detector begins.
const dataRace = "WARNING: DATA RACE"

// take takes an event of a test.
func (r *result) take(e event) {
	t := r.tests[e.Test]
	if t == nil {
		t = &test{}
		r.tests[e.Test] = t
		r.order = append(r.order, e.Test)
	}
	switch e.Action {
	case "output":
		line := strings.TrimLeft(e.Output, " ")
		switch {
		case strings.HasPrefix(line, "=== "):
		case strings.HasPrefix(line, "--- FAIL"):
			t.verdict = e.Output
		default:
			r.raced = r.raced || strings.Contains(line, dataRace)
			t.output.add(e.Output)
		}
	case "pass", "skip":
		if said := t.output.String(); r.raced && strings.Contains(said, dataRace) {
			r.own.add(said) // go test gives a report to the test that prints at that time, which need not be the one that fails
		}
		t.state, t.output = e.Action, text{}
	case "fail":
		t.state = e.Action
	}
}

// print writes what go test would have.
func (r *result) print(out io.Writer) {
	if r.state != "fail" {
		for line := range strings.Lines(r.own.String()) {
			if strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "?   \t") {
				fmt.Fprint(out, line)
			}
		}
	} else {
		fmt.Fprint(out, r.failure())
	}
	for name, t := range r.tests {
		if t.state == "pass" || t.state == "skip" {
			delete(r.tests, name)
		}
	}
}

// failure is what the package and its tests that failed, or did not end, printed.
func (r *result) failure() string {
	var all strings.Builder
	for _, name := range r.order {
		if t := r.tests[name]; t != nil && (t.state == "fail" || t.state == "") {
			all.WriteString(t.verdict + t.output.String())
		}
	}
	all.WriteString(r.own.String())
	return all.String()
}

// failed are the names of the tests that failed, without subtests.
func (r *result) failed() []string {
	var names []string
	for _, name := range r.order {
		if t := r.tests[name]; t != nil && t.state == "fail" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names
}

// output is what a test and its subtests that failed printed.
func (r *result) output(name string) string {
	var all text
	for _, n := range r.order {
		if t := r.tests[n]; t != nil && (n == name || strings.HasPrefix(n, name+"/")) {
			all.add(t.verdict + t.output.String())
		}
	}
	return all.String()
}

// keep is how much of an output is kept of its beginning, and as much of its end.
const keep = 128 << 10

// text is an output without its middle.
type text struct {
	head, tail []byte
	lost       int
}

func (t *text) add(s string) {
	if room := min(keep-len(t.head), len(s)); room > 0 {
		t.head, s = append(t.head, s[:room]...), s[room:]
	}
	t.tail = append(t.tail, s...)
	if over := len(t.tail) - keep; over > keep {
		t.tail = append([]byte(nil), t.tail[over:]...)
		t.lost += over
	}
}

func (t *text) String() string {
	if t.lost == 0 {
		return string(t.head) + string(t.tail)
	}
	return fmt.Sprintf("%s\n... %d bytes left out ...\n%s", t.head, t.lost, t.tail)
}
