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

// TestMain burns processor time when it runs as a server.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "kube-apiserver" {
		os.Exit(m.Run())
	}
	var used syscall.Rusage // a busy machine gives it little in 3 s
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end) || used.Utime.Nano() < int64(700*time.Millisecond); {
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			os.Exit(1)
		}
	}
}

// TestServers starts two servers, one after the other, and leaves a third behind, which
// outlives it.
func TestServers(t *testing.T) {
	server := filepath.Join(os.Getenv("STATE"), "kube-apiserver")
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
