// Package port gives test programs ports that stay reserved for them during a test,
// also across restarts of the program. It does not listen on them. A Link is a network
// before one. The packages below test/ that start programs call it.
package port

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// The ports are below 32768, where Linux begins to assign ports to outgoing
// connections: one of those could be taken while a program restarts.
const (
	first = 20000
	count = 12000
)

var (
	mu sync.Mutex
	// claims keep other processes from a port as long as this one lives. The
	// kernel ends a claim with its process, however that ends.
	claims []*os.File
)

// Free returns a port of 127.0.0.1 that nobody listens on, and that no other caller
// in any process was or will be given while this process lives.
func Free() (int, error) {
	mu.Lock()
	defer mu.Unlock()
	dir := filepath.Join(os.TempDir(), "axle-ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	for range 100 {
		number := first + rand.IntN(count)
		claim, err := claim(filepath.Join(dir, fmt.Sprint(number)))
		if err != nil {
			return 0, err
		}
		if claim == nil {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", number))
		if err != nil {
			claim.Close()
			continue
		}
		listener.Close()
		claims = append(claims, claim)
		return number, nil
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1 after 100 tries", first, first+count)
}

// Keep is Free for a port that another process was given, whose program runs on: while this
// process lives, nobody is given it when that program restarts.
func Keep(number int) error {
	mu.Lock()
	defer mu.Unlock()
	claim, err := claim(filepath.Join(os.TempDir(), "axle-ports", fmt.Sprint(number)))
	if claim != nil {
		claims = append(claims, claim)
	}
	return err
}

// Address is Free as host:port.
func Address() (string, error) {
	number, err := Free()
	return fmt.Sprintf("127.0.0.1:%d", number), err
}

// claim locks a file; nil means that another process holds it.
func claim(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}
