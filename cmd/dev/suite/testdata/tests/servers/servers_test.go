package servers

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestMain takes a little more processor time than the test asks for when it runs as a server.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "played-server" {
		os.Exit(m.Run())
	}
	seen := time.After(3 * time.Second) // by more than one look
	// Most of what asking takes is the kernel's.
	for used := (syscall.Rusage{}); used.Utime.Nano()+used.Stime.Nano() < int64(700*time.Millisecond); {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			os.Exit(1)
		}
	}
	<-seen
}

// TestServers starts two servers, one after the other, and leaves a third behind, which
// outlives it.
func TestServers(t *testing.T) {
	server := filepath.Join(os.Getenv("STATE"), "played-server")
	if err := copyOfThis(server); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out, err := exec.Command(server).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := exec.Command(server).Start(); err != nil {
		t.Fatal(err)
	}
}

func copyOfThis(name string) error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return to.Close()
}
