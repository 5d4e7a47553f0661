// Package testlog writes what the tests of a service say while they run, each
// line once. It makes no calls; axle services tests --follow gives it what the
// hub answers.
package testlog

import (
	"fmt"
	"io"
	"strings"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// Name is the name of a test, with its namespace.
func Name(t *hubv1.TestResult) string {
	return strings.TrimPrefix(t.GetNamespace()+"/"+t.GetName(), "/")
}

// Log remembers what was shown of each test. Out must be set.
type Log struct {
	Out  io.Writer
	seen map[string]int64
	said map[string]string
}

// Show prints what is new, a prefix before each line.
func (l *Log) Show(run *hubv1.TestRun) {
	if run.GetState() == "Waiting" {
		l.Say("", run.GetMessage())
	}
	for _, t := range run.GetTests() {
		name := Name(t)
		if t.GetAttempt() == 0 {
			continue
		}
		attempt := fmt.Sprintf("%s %s %d", run.GetKey(), name, t.GetAttempt())
		l.Say(name, fmt.Sprintf("attempt %d of %d", t.GetAttempt(), t.GetAttempts()))
		more := t.GetLogBytes() - l.seen[attempt]
		if l.seen == nil {
			l.seen = map[string]int64{}
		}
		l.seen[attempt] = t.GetLogBytes()
		tail := t.GetTail()
		if more > int64(len(tail)) {
			fmt.Fprintf(l.Out, "%s | … %d bytes are not shown\n", name, more-int64(len(tail)))
			more = int64(len(tail))
		}
		for line := range strings.Lines(tail[int64(len(tail))-max(0, more):]) {
			fmt.Fprintf(l.Out, "%s | %s\n", name, strings.TrimRight(line, "\n"))
		}
		if state := t.GetState(); state == "Passed" || state == "Failed" || t.GetMessage() != "" {
			l.Say(name, strings.TrimSuffix(state+": "+t.GetMessage(), ": "))
		}
	}
}

// Say prints a line once.
func (l *Log) Say(name, text string) {
	if text == "" || l.said[name] == text {
		return
	}
	if l.said == nil {
		l.said = map[string]string{}
	}
	l.said[name] = text
	if name == "" {
		fmt.Fprintln(l.Out, text)
		return
	}
	fmt.Fprintf(l.Out, "%s: %s\n", name, text)
}
