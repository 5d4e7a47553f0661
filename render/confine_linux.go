//go:build amd64 || arm64

package render

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/internal/confine"
)

// The limits of one child. The soft memory limit makes the garbage collector work
// before the hard limit ends the process. It is far lower, so that memory which the
// collector cannot use at the moment, because of fragmentation, does not decide
// whether an input can be rendered. RLIMIT_AS would not work: a Go program reserves
// far more address space than it uses and would not start.
const (
	memoryHard = 512 << 20
	memorySoft = 384 << 20
	// A template that recurses without end dies of this limit, not of the memory
	// limit.
	stackBytes = 64 << 20
)

// Confine gives up what rendering does not need, for all threads and permanently:
// memory beyond 512 MiB above the program's initial size, new privileges, core dumps,
// and every system call outside a short list. It is called before anything is read.
func Confine() error {
	debug.SetMemoryLimit(memorySoft)
	debug.SetMaxStack(stackBytes)
	limits := map[int]uint64{unix.RLIMIT_DATA: mapped() + memoryHard, unix.RLIMIT_CORE: 0}
	for which, value := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(which, &now); err != nil {
			return fmt.Errorf("read the render child's limits: %w", err)
		}
		// A limit can only be lowered; a lower one stays.
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

// mapped is what RLIMIT_DATA counts of this process so far: some 100 MiB that the
// runtime has mapped for its tables and thread stacks, and hardly touched. Zero means
// unknown.
func mapped() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 6 {
		return 0
	}
	pages, err := strconv.ParseUint(fields[5], 10, 32)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}
