package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tick is the unit of times in /proc, fixed for user space.
const tick = time.Second / 100

// key identifies a process: numbers come again.
type key struct {
	pid   int
	start string
}

// process is what was last seen of one.
type process struct {
	key
	parent  *process
	name    string // the kernel's name, by which a change of the program is noticed
	program string
	folder  string // of a test binary: the folder of its package
	own     time.Duration
	waited  time.Duration // of children that it waited for
	alive   bool
	orphan  bool // its parent ended first, and does not wait for it
	zombie  bool
}

// sampler looks at the processes below one. It needs no rights: it reads /proc.
type sampler struct {
	mu   sync.Mutex
	root int
	all  map[key]*process
	live map[int]*process
}

func newSampler(root int) *sampler {
	return &sampler{root: root, all: map[key]*process{}, live: map[int]*process{}}
}

// sample reads all processes once.
func (s *sampler) sample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	now := map[int]status{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if st, ok := readStatus(pid); ok {
				now[pid] = st
			}
		}
	}
	for _, p := range s.live {
		p.alive = false
	}
	live := map[int]*process{}
	for pid := range now {
		s.find(pid, now, live, 0)
	}
	s.live = live
}

// find returns the process if it is below the root.
func (s *sampler) find(pid int, now map[int]status, live map[int]*process, depth int) *process {
	if p := live[pid]; p != nil {
		return p
	}
	st, ok := now[pid]
	if !ok || pid == s.root || depth > 100 {
		return nil
	}
	k := key{pid, st.start}
	p := s.all[k]
	if p == nil {
		parent := s.find(st.parent, now, live, depth+1)
		if parent == nil && st.parent != s.root {
			return nil
		}
		p = &process{key: k, parent: parent}
		s.all[k] = p
	}
	if p.name != st.name {
		p.name, p.program, p.folder = st.name, program(pid, st.name), ""
		if p.program == testBinary {
			// Empty if it has ended meanwhile.
			p.folder, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		}
	}
	p.own, p.waited, p.alive, p.zombie = st.own, st.waited, true, st.zombie
	p.orphan = p.parent != nil && p.parent.pid != st.parent
	live[pid] = p
	return p
}

// running is what processes took that run on, with what they waited for.
func (s *sampler) running() time.Duration {
	var sum time.Duration
	for _, p := range s.all {
		if p.alive && !p.zombie {
			sum += p.own + p.waited
		}
	}
	return sum
}

// status is a line of /proc/PID/stat.
type status struct {
	parent      int
	name, start string
	own, waited time.Duration
	zombie      bool
}

func readStatus(pid int) (status, bool) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	line := string(content)
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if err != nil || open < 0 || end < open {
		return status{}, false
	}
	f := strings.Fields(line[end+1:])
	if len(f) < 20 {
		return status{}, false
	}
	n := func(i int) time.Duration {
		v, _ := strconv.ParseInt(f[i], 10, 64) // the kernel writes numbers
		return time.Duration(v)
	}
	return status{
		parent: int(n(1)), name: line[open+1 : end], start: f[19], zombie: f[0] == "Z" || f[0] == "X",
		own: (n(11) + n(12)) * tick, waited: (n(13) + n(14)) * tick,
	}, true
}

// ownChildren are the children of this process.
func ownChildren() []int {
	// No pattern is malformed.
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	var pids []int
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			continue // the thread ended
		}
		for _, f := range strings.Fields(string(content)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
