package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/axle-cd/axle/test/procuse"
)

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
	mu     sync.Mutex
	root   int
	keeper int // whose programs are nobody's in particular; 0 without one
	all    map[key]*process
	live   map[int]*process
}

func newSampler(root int) *sampler {
	return &sampler{root: root, all: map[key]*process{}, live: map[int]*process{}}
}

// keeps says which process keeps programs for all tests.
func (s *sampler) keeps(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeper = pid
}

// sample reads all processes once.
func (s *sampler) sample() {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	now := map[int]procuse.Process{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if st, err := procuse.Read(pid); err == nil { // else it ended
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
func (s *sampler) find(pid int, now map[int]procuse.Process, live map[int]*process, depth int) *process {
	if p := live[pid]; p != nil {
		return p
	}
	st, ok := now[pid]
	if !ok || pid == s.root || depth > 100 {
		return nil
	}
	k := key{pid, st.Start}
	p := s.all[k]
	if p == nil {
		parent := s.find(st.Parent, now, live, depth+1)
		if parent == nil && st.Parent != s.root {
			return nil
		}
		p = &process{key: k, parent: parent}
		s.all[k] = p
	}
	if p.name != st.Name {
		p.name, p.program, p.folder = st.Name, programOf(pid, st.Name), ""
		if p.program == testBinary {
			// Empty if it has ended meanwhile.
			p.folder, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		}
	}
	if pid == s.keeper {
		p.folder = keptFolder
	}
	p.own, p.waited, p.alive, p.zombie = st.Own, st.Waited, true, st.Ended
	p.orphan = p.parent != nil && p.parent.pid != st.Parent
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
