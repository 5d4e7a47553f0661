package testlog_test

import (
	"bytes"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/testlog"
)

// A log is shown as it grows, and nothing of it twice.
func TestALogIsShownOnce(t *testing.T) {
	var out bytes.Buffer
	log := testlog.Log{Out: &out}
	run := func(state, tail string, bytes int64) {
		log.Show(&hubv1.TestRun{Key: "1", Tests: []*hubv1.TestResult{{Namespace: "shop", Name: "smoke", State: state, Attempt: 1, Attempts: 2, Tail: tail, LogBytes: bytes}}})
	}
	run("Running", "one\n", 4)
	run("Running", "one\n", 4)
	run("Running", "one\ntwo\n", 8)
	run("Passed", "end\n", 40)
	log.Say("", "done")
	log.Say("", "done")
	want := `shop/smoke: attempt 1 of 2
shop/smoke | one
shop/smoke | two
shop/smoke | … 28 bytes are not shown
shop/smoke | end
shop/smoke: Passed
done
`
	if out.String() != want {
		t.Errorf("shown\n%s, want\n%s", out.String(), want)
	}
}
