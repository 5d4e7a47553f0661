package render_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// objectsOf are objects whose phases are given.
func objectsOf(phases ...string) [][]byte {
	var all [][]byte
	for _, phase := range phases {
		all = append(all, fmt.Appendf(nil, `{"apiVersion":"example.org/v1","kind":"Topic","status":{"phase":%q}}`, phase))
	}
	return all
}

var phases = render.Rule{Name: "ns/phases", Failed: "status.phase == 'Failed'", Current: "status.phase == 'Running'", Message: "'it is ' + status.phase"}

// dear uses all the time that one judgement may take.
var dear = render.Rule{Name: "ns/dear", Current: strings.Repeat("[0,1,2,3,4,5,6,7].all(a, ", 5) + "true" + strings.Repeat(")", 5)}

// TestJudge: one child judges batch after batch by different rules, and passes
// are rendered by others.
func TestJudge(t *testing.T) {
	runner := rareRunner(t, render.Config{})
	for range 2 {
		got, err := runner.Judge(patient(t), phases, objectsOf("Running", "Failed", "", "Running"))
		want := []render.Verdict{{Status: "Healthy", Message: "it is Running"}, {Status: "Degraded", Message: "it is Failed"}, {Status: "Progressing", Message: "it is "}, {Status: "Healthy", Message: "it is Running"}}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v, %v; want %v", got, err, want)
		}
		_, err = runner.Judge(patient(t), render.Rule{Name: "ns/broken", Current: "true &&"}, nil)
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "ns/broken") || !strings.Contains(err.Error(), "line 1, column") {
			t.Fatalf("%v for a rule that does not compile", err)
		}
	}
	before := children(t)
	works(t, runner)
	if after := children(t); len(before) != 1 || !slices.ContainsFunc(after, func(pid int) bool { return pid != before[0] }) {
		t.Errorf("children %v, then %v: a pass was rendered by the child that judges, or two judge", before, after)
	}
	runner.Close()
	noChildren(t)
	if _, err := runner.Judge(patient(t), phases, objectsOf("Running")); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("%v after the end", err)
	}
}

// TestJudgeKilled: a child that dies during a batch fails only that batch, and the
// next one gets another child.
func TestJudgeKilled(t *testing.T) {
	runner := rareRunner(t, render.Config{})
	if _, err := runner.Judge(patient(t), phases, objectsOf("Running")); err != nil {
		t.Fatal(err)
	}
	pids := children(t)
	if len(pids) != 1 {
		t.Fatalf("children %v", pids)
	}
	// While stopped, it stays in the batch for as long as it takes to kill it.
	if err := syscall.Kill(pids[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// A signal takes effect later than it is sent: until then it could still answer.
	eventually.For(t, time.Minute, "the child is stopped", func() error { return stopped(pids[0]) })
	failed := make(chan error, 1)
	go func() {
		_, err := runner.Judge(patient(t), phases, objectsOf("Running", "Running"))
		failed <- err
	}()
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// When it is dead before it is asked, another is started: that is right, too.
	if err := <-failed; err != nil && !errcode.Is(err, errcode.Exhausted) {
		t.Errorf("%v, want that the child ended", err)
	}
	if got, err := runner.Judge(patient(t), phases, objectsOf("Failed")); err != nil || got[0].Status != "Degraded" {
		t.Errorf("%v, %v after a child died", got, err)
	}
}

// stopped fails while a thread of a process can run.
func stopped(pid int) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("%d threads, %v", len(threads), err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			return err
		}
		// The name before the state is in brackets and may hold anything.
		if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T") {
			return fmt.Errorf("%s: %.1s", thread, state)
		}
	}
	return nil
}

// TestJudgeHangs: a child that does not answer is ended with its batch.
func TestJudgeHangs(t *testing.T) {
	runner := rareRunner(t, render.Config{Timeout: 3 * time.Second})
	eventually.For(t, time.Minute, "a child is there", func() error {
		_, err := runner.Judge(patient(t), phases, objectsOf("Running"))
		return err
	})
	for _, pid := range children(t) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := runner.Judge(patient(t), phases, objectsOf("Running")); !errcode.Is(err, errcode.Exhausted) || !strings.Contains(err.Error(), "longer than 3s") {
		t.Errorf("%v, want that it took too long", err)
	}
	noChildren(t)
}

// TestJudgeEndsBatches: an expensive rule gives verdicts of the first objects, so
// that the others can be requested again, and each verdict names the exceeded limit.
func TestJudgeEndsBatches(t *testing.T) {
	runner := rareRunner(t, render.Config{})
	const many = 2000
	got, err := runner.Judge(patient(t), dear, objectsOf(slices.Repeat([]string{"Running"}, many)...))
	if err != nil || len(got) == 0 {
		t.Fatalf("%d verdicts, %v", len(got), err)
	}
	t.Logf("%d of %d were judged at once", len(got), many)
	for _, v := range got {
		if v.Status != "Healthy" && (v.Status != "Unknown" || !strings.Contains(v.Message, "rule ns/dear: expression current: operation ")) {
			t.Fatalf("%+v", v)
		}
	}
}

func TestJudgeWithoutTheProgram(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "axle-render")
	copyFile(t, binary, alone)
	runner := newRunner(t, render.Config{Binary: alone})
	if _, err := runner.Judge(patient(t), phases, objectsOf("Running")); !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "axle-render-rare") {
		t.Errorf("%v, want the missing program", err)
	}
	// The usual program in its place says that it does not know the language.
	if err := os.Link(alone, render.Rare(alone)); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Judge(patient(t), phases, objectsOf("Running")); !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "does not support CEL") {
		t.Errorf("%v, want that it does not know CEL", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runner.Judge(cancelled, phases, objectsOf("Running")); err == nil {
		t.Error("it judged although nobody waits")
	}
}
