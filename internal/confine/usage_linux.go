package confine

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes put a tool into its own group, which dies with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when a child has ended, without reaping it.
func awaitExit(pid int) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// usage counts the processes of a group and their memory.
func usage(group int) (processes int, memory int64) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0
	}
	for _, entry := range entries {
		if name := entry.Name(); name[0] < '1' || name[0] > '9' {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "stat"))
		if err != nil {
			continue
		}
		// The name, in brackets, may contain anything.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) < 22 || string(fields[2]) != strconv.Itoa(group) {
			continue
		}
		pages, _ := strconv.ParseInt(string(fields[21]), 10, 64)
		processes, memory = processes+1, memory+pages*int64(os.Getpagesize())
	}
	return processes, memory
}

// diskUsage adds up a folder's files until the sum exceeds enough.
func diskUsage(dir string, enough int64) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size() + 4<<10
		}
		if total > enough {
			return filepath.SkipAll
		}
		return nil
	})
	return total
}
