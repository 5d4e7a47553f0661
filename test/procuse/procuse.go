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
	p, err := Read(pid)
	if err != nil {
		return u, err
	}
	u.CPU, u.RSS = p.Own+p.Waited, rss(pid)
	u.descend(pid)
	return u, nil
}

// descend adds the processes below a process. Those that end meanwhile are counted by
// the process that waited for them, or not at all.
func (u *Usage) descend(pid int) {
	for _, child := range Children(pid) {
		if p, err := Read(child); err == nil {
			u.CPU += p.Own + p.Waited
			if command(child) != command(pid) {
				u.Children += rss(child)
			} // else it was just forked, and its memory is its parent's
			u.descend(child)
		}
	}
}

// Children are the processes that one started and did not wait for yet, and the orphans
// that it was given.
func Children(pid int) []int {
	// No pattern is malformed.
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var children []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread ended
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// Process is one process without its descendants.
type Process struct {
	Parent int
	// Name is the kernel's, at most 15 bytes.
	Name string
	// Start is when it began, in the kernel's words: with its number, it identifies a
	// process.
	Start string
	// Ended: nobody has waited for it yet.
	Ended bool
	// Own is its processor time, Waited that of the children that it waited for, with
	// theirs.
	Own, Waited time.Duration
}

// Read reads one process from /proc.
func Read(pid int) (Process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, err
	}
	line := string(text)
	// The name may contain blanks and parentheses. The state is the first field behind it.
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	fields := strings.Fields(line[end+1:])
	if open < 0 || end < open || len(fields) < 22 {
		return Process{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	var numbers [22]int64
	for _, i := range []int{1, 11, 12, 13, 14} {
		if numbers[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return Process{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
	}
	return Process{
		Parent: int(numbers[1]), Name: line[open+1 : end], Start: fields[19], Ended: fields[0] == "Z" || fields[0] == "X",
		Own: duration(numbers[11] + numbers[12]), Waited: duration(numbers[13] + numbers[14]),
	}, nil
}

func duration(n int64) time.Duration { return time.Duration(n) * time.Second / ticks }

// command is a process's command line, with zero bytes between the words.
func command(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(text)
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
