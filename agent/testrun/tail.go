package testrun

import (
	"strings"
	"sync"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/scrub"
)

const (
	// maxTail is how much of a log's end is kept and sent, maxLine of one line.
	maxTail = 16 << 10
	maxLine = 4 << 10
	// maxReport bounds a JUnit report in a log.
	maxReport = 1 << 20
	// reportBegin and reportEnd are lines around a JUnit report; they and the report
	// are not part of the tail.
	reportBegin = "-----BEGIN JUNIT-----"
	reportEnd   = "-----END JUNIT-----"
)

// tail keeps the end of a log while it is written.
type tail struct {
	scrub *scrub.Scrubber

	mu    sync.Mutex
	text  string
	total int64
	// within: a report is being read.
	within bool
	report strings.Builder
	found  *agentv1.TestReport
	note   string
}

// add adds a line without its line end.
func (t *tail) add(line string) {
	line = strings.TrimRight(line, "\r\n")
	t.mu.Lock()
	defer t.mu.Unlock()
	switch trimmed := strings.TrimSpace(line); {
	case trimmed == reportBegin:
		t.within = true
		t.report.Reset()
		return
	case t.within && trimmed == reportEnd:
		t.within = false
		t.read(t.report.String())
		return
	case t.within && t.report.Len()+len(line) > maxReport:
		t.within = false
		t.note = "its JUnit report is longer than 1 MiB and is ignored"
	case t.within:
		t.report.WriteString(line + "\n")
		return
	}
	line = strings.ToValidUTF8(strings.ReplaceAll(line, "\x00", ""), "�")
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	line = t.scrub.String(line) + "\n"
	t.total += int64(len(line))
	t.text += line
	for len(t.text) > maxTail {
		_, t.text, _ = strings.Cut(t.text, "\n")
	}
}

// read parses a JUnit report from a log or a termination message.
func (t *tail) read(text string) {
	found, err := readJUnit(text, t.scrub)
	if err != nil {
		t.note = "its JUnit report cannot be read: " + err.Error()
		return
	}
	t.found = found
}

// ended reads the message that a container left.
func (t *tail) ended(message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found == nil && looksLikeJUnit(message) {
		t.read(message)
	}
}

// said is the message about a report that cannot be read.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.note
}

// put writes the collected data into a result.
func (t *tail) put(out *agentv1.TestResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out.Tail, out.LogBytes, out.Report = t.scrub.String(t.text), t.total, t.found
}
