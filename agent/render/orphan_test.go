package render_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/eventually"
)

// orphanVariable makes the test binary an agent that will be killed; its value
// is the render binary.
const orphanVariable = "AXLE_RENDER_ORPHAN"

// waits says that it was asked and never answers.
type waits struct{}

// Lookup prints a line and waits for the end.
func (waits) Lookup(ctx context.Context, _ render.LookupKey) ([]byte, error) {
	_, _ = os.Stdout.WriteString("asked\n")
	<-ctx.Done()
	return nil, ctx.Err()
}

// orphan renders a chart that looks something up and then loops.
func orphan() {
	runner, err := render.New(render.Config{Binary: binary, Timeout: time.Hour})
	if err == nil {
		_, err = runner.Render(context.Background(), render.Pass{Name: "a", Folder: os.Getenv("AXLE_FOLDER"), Lookup: waits{}})
	}
	_, _ = os.Stderr.WriteString(fmt.Sprint(err))
}

func TestChildDiesWithAKilledAgent(t *testing.T) {
	agent := exec.CommandContext(patient(t), os.Args[0])
	agent.Env = append(os.Environ(), orphanVariable+"="+binary,
		"AXLE_FOLDER="+folder(t, map[string]string{"Chart.yaml": chart, "templates/a.yaml": looksUp}))
	agent.Stderr = os.Stderr
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "asked\n" {
		t.Fatalf("the agent said %q, %v", line, err)
	}
	child := grandchild(t, agent.Process.Pid)
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	eventually.For(t, time.Minute, "the child is gone", func() error {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child)); err == nil && !strings.Contains(string(status), "State:\tZ") {
			return errors.New("it still runs")
		}
		return nil
	})
}

// grandchild is the only child of a process.
func grandchild(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue
		}
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			child, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			return child
		}
	}
	t.Fatal("the agent has no render child")
	return 0
}
