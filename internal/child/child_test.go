package child_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
)

// TestMain plays the parent that is killed: it starts a sleeper and says which.
func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_PARENT") != "" {
		sleeper := exec.Command("sleep", "600")
		if err := child.Start(sleeper); err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString(strconv.Itoa(sleeper.Process.Pid) + "\n")
		_ = sleeper.Wait()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestChildrenEndWithAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(parent); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	// The parent alone, as a crash would: the kernel must end the rest.
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually.For(t, time.Minute, "the grandchild ends", func() error {
		// A zombie still has a pid; it is as ended as can be.
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return nil
		}
		return syscall.EBUSY
	})
}
