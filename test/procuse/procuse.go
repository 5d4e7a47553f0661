// Package procuse reads the resource use of a process and its children from /proc.
// Benchmarks call it; it keeps nothing. Children that ended between two readings are
// counted by the process that waited for them, or not at all.
package procuse

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is the kernel's USER_HZ, fixed for user space.
const ticks = 100

// Usage is the resource use of a process and its present children.
type Usage struct {
	// CPU counts the process and all its descendants, those that ended too.
	CPU time.Duration
	// RSS is the process's present memory, Children that of its descendants
	// together, in bytes.
	RSS, Children int64
}

// Of reads a process from /proc.
func Of(pid int) (Usage, error) {
	var u Usage
	fields, err := stat(pid)
	if err != nil {
		return u, err
	}
	u.CPU, u.RSS = cpu(fields), rss(pid)
	u.descend(pid)
	return u, nil
}

// descend adds the processes below a process. Those that end meanwhile are counted by
// the process that waited for them, or not at all.
func (u *Usage) descend(pid int) {
	// No pattern is malformed.
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread ended
		}
		for _, field := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			if fields, err := stat(child); err == nil {
				u.CPU += cpu(fields)
				if command(child) != command(pid) {
					u.Children += rss(child)
				} // else it was just forked, and its memory is its parent's
				u.descend(child)
			}
		}
	}
}

// stat returns the fields behind the program's name, the state first.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 22 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

// command is a process's command line, with zero bytes between the words.
func command(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(text)
}

// cpu adds up utime, stime, cutime and cstime, which start at the 12th field.
func cpu(fields []string) time.Duration {
	var sum int64
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err == nil {
			sum += n
		}
	}
	return time.Duration(sum) * time.Second / ticks
}

// rss is a process's memory in bytes, zero when it is gone.
func rss(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// Files counts those of a process; zero when it is gone.
func Files(pid int) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(list)
}

// Own is what this process took.
func Own() time.Duration {
	u, err := Of(os.Getpid())
	if err != nil {
		return 0
	}
	return u.CPU
}
