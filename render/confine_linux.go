//go:build amd64 || arm64

package render

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/internal/confine"
)

// What one child may use. The soft limit makes the collector work before the
// hard one ends the process. RLIMIT_AS would not do: a Go program reserves far
// more address space than it uses and would not start.
const (
	memoryHard = 512 << 20
	memorySoft = 440 << 20
	// A template that recurses without end dies of this, not of the memory.
	stackBytes = 64 << 20
)

// Confine gives up what rendering does not need, for all threads and for good:
// memory beyond 512 MiB, new privileges, core dumps, and every system call
// outside a short list. It is called before anything is read.
func Confine() error {
	debug.SetMemoryLimit(memorySoft)
	debug.SetMaxStack(stackBytes)
	limits := map[int]uint64{unix.RLIMIT_DATA: memoryHard, unix.RLIMIT_CORE: 0}
	for which, value := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(which, &now); err != nil {
			return fmt.Errorf("read the render child's limits: %w", err)
		}
		// A limit may be lowered only; one that is lower already stays.
		value = min(value, now.Max)
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("limit the render child's resources: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return confine.Threads(allowed)
}
