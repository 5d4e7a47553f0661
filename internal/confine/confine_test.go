package confine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/confine"
)

// TestMain lets the test binary be the launcher.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == confine.LaunchWord {
		fmt.Fprintln(os.Stderr, confine.Launch(os.Args[2:]))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// shell runs a script as a tool.
func shell(t *testing.T, script string) (output, words string, err error) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if sh, err = filepath.EvalSymlinks(sh); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, words, err := confine.Command{
		Launcher: self, Argv: []string{sh, "-c", script}, Own: own, Dir: own, Env: []string{"PATH=/usr/bin:/bin"},
		Input: []byte("told"), MaxOutput: 1 << 20,
	}.Run(ctx)
	return string(out), words, err
}

func TestCommand(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   string
		words  string
		fail   string
	}{
		"reads and prints":    {script: "cat; pwd | wc -l; echo said >&2", want: "told1\n", words: "said"},
		"a folder of its own": {script: "mkdir a && echo x > a/b && mv a/b c && ln -s c d && cat d && rm -r a", want: "x\n"},
		"pipes and processes": {script: "(sleep 0; echo a) | tr a b; wait", want: "b\n"},
		"not to others":       {script: "kill -0 " + fmt.Sprint(os.Getppid()) + " 2>/dev/null && echo reached || echo refused", want: "refused\n"},
		"not the machine":     {script: "cat /etc/passwd /proc/version; ls /root /proc", fail: "exit status"},
		"no own session":      {script: "setsid true", fail: "exit status"},
		"no mode by path":     {script: "touch a; chmod 755 a", fail: "exit status"},
		"an exit code":        {script: "echo why >&2; exit 3", words: "why", fail: "it ended with exit status 3"},
		"more than it may":    {script: "head -c 2000000 /dev/zero; sleep 600", fail: "printed more than 1048576 bytes"},
		"memory of all":       {script: "for i in 1 2 3 4; do (head -c 160000000 /dev/zero; sleep 600) | tail -c 160000000 > /dev/null & done; wait", fail: "MiB of memory"},
		"a large file":        {script: "head -c 100000000 /dev/zero > a", fail: "exit status"},
	} {
		t.Run(name, func(t *testing.T) {
			output, words, err := shell(t, test.script)
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) || !strings.Contains(words, test.words) {
					t.Errorf("got %q, %q, %v, want %s", output, words, err, test.fail)
				}
				return
			}
			if err != nil || output != test.want || !strings.Contains(words, test.words) {
				t.Errorf("got %q, %q, %v, want %q", output, words, err, test.want)
			}
		})
	}
}

// TestCommandEndsWithItsContext: also what ignores signals and holds the pipes.
func TestCommandEndsWithItsContext(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	_, _, err = confine.Command{
		Launcher: self, Argv: []string{"/bin/sh", "-c", "trap '' TERM INT; sleep 600 & sleep 600"}, Own: own, Dir: own, MaxOutput: 10,
	}.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
}
