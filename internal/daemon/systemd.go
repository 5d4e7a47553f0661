package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"
)

// readyEvery is how often a program is asked whether it is ready, until it is.
const readyEvery = 100 * time.Millisecond

// TellReady waits until ready returns nil, and then tells the systemd that started the
// program as a unit of Type=notify. Without such a systemd it returns at once.
func TellReady(ctx context.Context, ready func() error) error {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return nil
	}
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for ready() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", socket)
	if err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("READY=1")); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}
