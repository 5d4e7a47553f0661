package daemon_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/daemon"
)

// systemd hears of it once the program is ready, and never before.
func TestTellReady(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	asked := 0
	err = daemon.TellReady(t.Context(), func() error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || asked != 3 {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	said := make([]byte, 64)
	if err := heard.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := heard.Read(said); err != nil || string(said[:n]) != "READY=1" {
		t.Errorf("systemd heard %q, %v", said[:n], err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := daemon.TellReady(ended, func() error { return errors.New("never") }); err != nil {
		t.Errorf("a program that ends: %v", err)
	}
	t.Setenv("NOTIFY_SOCKET", socket+"-gone")
	if err := daemon.TellReady(t.Context(), func() error { return nil }); err == nil {
		t.Error("no error without a systemd")
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := daemon.TellReady(t.Context(), func() error { t.Error("asked"); return nil }); err != nil {
		t.Error(err)
	}
}
