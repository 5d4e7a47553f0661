package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/render"
	"github.com/axle-cd/axle/render/rendertest"
)

// probeVariable makes the test binary confine itself and try forbidden operations.
const probeVariable = "AXLE_RENDER_PROBE"

// probing runs in the re-executed test binary: it prints what each attempt
// gave. An empty error is an attempt that worked.
func probing() bool {
	if os.Getenv(probeVariable) == "" {
		return false
	}
	if os.Getenv(probeVariable) == "confined" {
		if err := render.Confine(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	}
	results := map[string]string{}
	for name, attempt := range attempts {
		if err := attempt(); err != nil {
			results[name] = err.Error()
			if errors.Is(err, syscall.EPERM) {
				results[name] = "EPERM"
			}
		} else {
			results[name] = "worked"
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(results)
	return true
}

// attempts are what a compromised renderer could try.
var attempts = map[string]func() error{
	"tcp socket":  func() error { return socket(unix.AF_INET, unix.SOCK_STREAM) },
	"udp socket":  func() error { return socket(unix.AF_INET6, unix.SOCK_DGRAM) },
	"unix socket": func() error { return socket(unix.AF_UNIX, unix.SOCK_STREAM) },
	"netlink":     func() error { return socket(unix.AF_NETLINK, unix.SOCK_RAW) },
	"dial": func() error {
		c, err := net.Dial("udp", "127.0.0.1:9")
		if err == nil {
			c.Close()
		}
		return err
	},
	"socket pair": func() error {
		_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	},
	"open a file": func() error {
		f, err := os.Open("/proc/self/environ")
		if err == nil {
			f.Close()
		}
		return err
	},
	"create a file": func() error {
		f, err := os.Create(filepath.Join(os.TempDir(), "axle-render-probe-"+strconv.Itoa(os.Getpid())))
		if err == nil {
			f.Close()
			os.Remove(f.Name())
		}
		return err
	},
	"stat": func() error { _, err := os.Stat("/"); return err },
	"run":  func() error { return exec.Command("/bin/true").Run() },
	"kill": func() error { return syscall.Kill(os.Getpid(), 0) },
	"io_uring": func() error {
		// A bad pointer: EFAULT, or EPERM where the system forbids it to all.
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return errno
	},
	"new threads": func() error {
		var all sync.WaitGroup
		for range 100 {
			all.Add(1)
			go func() { defer all.Done(); _ = make([]byte, 1<<16) }()
		}
		all.Wait()
		return nil
	},
}

func socket(domain, kind int) error {
	fd, err := unix.Socket(domain, kind, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// probe runs the attempts in a process of their own.
func probe(t *testing.T, mode string) map[string]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = []string{probeVariable + "=" + mode}
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var results map[string]string
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return results
}

func TestConfinedProcessReachesNothing(t *testing.T) {
	free, confined := probe(t, "free"), probe(t, "confined")
	for name := range attempts {
		want := "EPERM"
		if name == "new threads" {
			want = "worked"
		}
		if confined[name] != want {
			t.Errorf("%s: %s, want %s", name, confined[name], want)
		}
		// The same attempt without the filter, or this proves nothing.
		if free[name] == "EPERM" && name != "io_uring" {
			t.Errorf("%s is refused without the filter too", name)
		}
	}
}

// TestEveryThreadIsConfined reads the kernel's view of a running child.
func TestEveryThreadIsConfined(t *testing.T) {
	child := rendertest.Start(t)
	child.Pass(fixtures()["raw"].Good, &renderv1.Begin{Entry: "app"})
	eventually.For(t, time.Minute, "all threads are confined", func() error {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", child.PID()))
		if err != nil || len(tasks) == 0 {
			return fmt.Errorf("no threads: %w", err)
		}
		for _, task := range tasks {
			status, err := os.ReadFile(task)
			if err != nil {
				return err
			}
			for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n"} {
				if !bytes.Contains(status, []byte(want)) {
					return fmt.Errorf("%s lacks %q", task, want)
				}
			}
		}
		return nil
	})
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", child.PID()))
	if err != nil {
		t.Fatal(err)
	}
	// 512 MiB besides what the runtime maps when it starts.
	var soft, hard uint64
	_, line, _ := bytes.Cut(limits, []byte("Max data size"))
	if _, err := fmt.Sscan(string(line), &soft, &hard); err != nil || soft != hard || hard < 512<<20 || hard > 768<<20 {
		t.Errorf("%d and %d bytes of data, %v:\n%s", soft, hard, err, limits)
	}
}
