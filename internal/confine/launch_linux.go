//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// LaunchWord is the first argument of a program that must call Launch.
const LaunchWord = "tool"

// Limits of one process of a tool; Command enforces those of all together.
const (
	toolMemory    = 512 << 20
	toolFileBytes = 64 << 20
	toolFiles     = 256
	toolSeconds   = 30
)

// Launch confines this process and becomes the tool. Its arguments are the tool's own
// folder and the tool's command line, beginning with its path. It returns only on
// failure.
func Launch(args []string) error {
	if len(args) < 2 || !filepath.IsAbs(args[0]) || !filepath.IsAbs(args[1]) {
		return errors.New("a tool needs its own folder and its command line, both with absolute paths")
	}
	// The jail and the filter apply to this thread, which becomes the tool.
	runtime.LockOSThread()
	own, argv := args[0], args[1:]
	limits := map[int]uint64{
		unix.RLIMIT_DATA: toolMemory, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: toolFileBytes,
		unix.RLIMIT_NOFILE: toolFiles, unix.RLIMIT_CPU: toolSeconds,
	}
	for which, value := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(which, &now); err != nil {
			return fmt.Errorf("read the tool's limits: %w", err)
		}
		value = min(value, now.Max)
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("limit the tool's resources: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	inside, err := jail(own, []string{filepath.Dir(argv[0])})
	if err != nil {
		return err
	}
	if err := load(toolFilter(inside), 0); err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", argv[0], unix.Exec(argv[0], argv, os.Environ()))
}
