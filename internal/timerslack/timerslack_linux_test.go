package timerslack_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/timerslack"
)

const asked = "TIMERSLACK_TEST_PROGRAM"

// TestMain is also the program that the test runs: it says its process, its
// arguments and the slack of each of its threads.
func TestMain(m *testing.M) {
	if os.Getenv(asked) == "" {
		os.Exit(m.Run())
	}
	began := os.Getpid()
	timerslack.Widen()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		panic(err)
	}
	var slacks []string
	for _, t := range threads {
		text, err := os.ReadFile("/proc/" + t.Name() + "/timerslack_ns")
		if err == nil && !slices.Contains(slacks, strings.TrimSpace(string(text))) {
			slacks = append(slacks, strings.TrimSpace(string(text)))
		}
	}
	fmt.Fprintln(os.Stdout, began, os.Args[1:], slacks, os.Getenv(timerslack.Variable))
	os.Exit(0)
}

func TestEachThreadMayBeLate(t *testing.T) {
	for name, c := range map[string]struct {
		env  string
		want string
	}{
		"as it is":     {"", "[a b] [1000000] 1ms"},
		"told to stay": {timerslack.Variable + "=off", "[a b] [50000] off"},
	} {
		t.Run(name, func(t *testing.T) {
			program := exec.Command(os.Args[0], "a", "b")
			program.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool {
				return strings.HasPrefix(e, timerslack.Variable+"=")
			}), asked+"=yes")
			if c.env != "" {
				program.Env = append(program.Env, c.env)
			}
			out, err := program.Output()
			if err != nil {
				t.Fatal(err)
			}
			// The process is the one that was started.
			if want := fmt.Sprintf("%d %s\n", program.Process.Pid, c.want); string(out) != want {
				t.Fatalf("the program said %q, want %q", out, want)
			}
		})
	}
}
