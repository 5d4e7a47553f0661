package render

import (
	"context"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnlyProcessorTimeIsLimited: a child that waits, as on a node without a free
// processor, may take longer than its processor time.
func TestOnlyProcessorTimeIsLimited(t *testing.T) {
	waiting := exec.CommandContext(t.Context(), "cat")
	in, err := waiting.StdinPipe()
	if err == nil {
		err = waiting.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), waiting.Wait() }()
	synctest.Test(t, func(t *testing.T) {
		const cpu = 500 * time.Millisecond
		ctx, end := context.WithCancelCause(t.Context())
		guarded := make(chan struct{})
		go func() {
			defer close(guarded)
			(&Runner{config: Config{CPU: cpu}}).guard(ctx, &child{cmd: waiting, done: make(chan struct{})}, end)
		}()
		<-time.After(100 * cpu) // of the bubble's clock
		synctest.Wait()
		if cause := context.Cause(ctx); cause != nil {
			t.Errorf("a child that waits was ended: %v", cause)
		}
		end(nil)
		<-guarded
	})
}
