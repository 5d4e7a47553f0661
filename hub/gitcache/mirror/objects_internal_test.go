package mirror

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

type sink struct{ bytes.Buffer }

func (*sink) Close() error { return nil }

// TestOnlyIDsAreWrittenToGit checks what keeps requests and answers of a shared
// process in step.
func TestOnlyIDsAreWrittenToGit(t *testing.T) {
	id := strings.Repeat("ab", 20)
	for _, bad := range []string{"", "HEAD", "main:a", id + "\ncontents x", id[:39], strings.ToUpper(id), id + " "} {
		var in sink
		r := &reader{in: &in, out: bufio.NewReader(strings.NewReader(""))}
		if err := r.ask(id, bad); err == nil || in.Len() != 0 {
			t.Errorf("asked for %q: %v, wrote %q", bad, err, in.String())
		}
		if !r.bad {
			t.Errorf("%q: the process would be used again", bad)
		}
	}
}

// TestAnswersAreComparedWithQuestions lets git answer for another object, as
// it does after a name with a newline was written to it.
func TestAnswersAreComparedWithQuestions(t *testing.T) {
	id, other := strings.Repeat("ab", 20), strings.Repeat("cd", 20)
	for _, answer := range []string{other + " blob 3\nabc\n", "main missing\n", id + " blob\n", id + " blob -1\n", ""} {
		r := &reader{out: bufio.NewReader(strings.NewReader(answer))}
		if kind, size, err := r.header(id); err == nil {
			t.Errorf("%q was taken as %s of %d", answer, kind, size)
		}
	}
	r := &reader{out: bufio.NewReader(strings.NewReader(id + " blob 3\nabc\n"))}
	if kind, size, err := r.header(id); kind != "blob" || size != 3 || err != nil {
		t.Errorf("%s, %d, %v", kind, size, err)
	}
}
