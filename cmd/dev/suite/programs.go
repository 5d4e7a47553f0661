package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// testBinary is the program of every test binary.
const testBinary = "test binaries"

// programs are files of programs that count as one.
var programs = map[string]string{
	"compile": "go compile", "link": "go link", "asm": "go compile", "cgo": "go compile", "cc1": "go compile",
	"vet": "go vet", "chrome": "chromium", "headless_shell": "chromium", "chromium-headless-shell": "chromium",
	"chrome_crashpad_handler": "chromium", "npm": "node", "esbuild": "node",
	"kube-controller": "kube-controller-manager", "terraform-provi": "terraform-provider-axle",
}

// kubedev is the file of the whole control plane, whose programs are links to it
// (test/kube).
const kubedev = "kubedev"

// programOf names what a process runs: by its file, or by the kernel's name if that cannot
// be read.
func programOf(pid int, name string) string {
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	file = filepath.Base(strings.TrimSuffix(file, " (deleted)"))
	if err == nil && file != kubedev {
		name = file
	}
	if strings.HasSuffix(name, ".test") {
		return testBinary
	}
	if p := programs[name]; p != "" {
		return p
	}
	if strings.HasPrefix(name, "git-") {
		return "git"
	}
	return name
}

// use is what a program, or the tests of a package, took.
type use struct {
	CPU     float64 `json:"cpu"`
	Started int     `json:"started,omitempty"`
	// APIServers are those that the tests of a package started.
	APIServers int `json:"apiServers,omitempty"`
}

// apiServer is the program that budgets count. Tests play it under another name, because
// those of a suite run below a suite that counts.
var apiServer = "kube-apiserver"

// byProgram adds up what was seen. A parent's sum of the children that it waited for also
// holds those that began and ended between two looks, and what the others took after the
// last: that is under "unseen below PROGRAM".
func (s *sampler) byProgram(total time.Duration) map[string]use {
	uses := map[string]use{}
	add := func(name string, cpu time.Duration, started int) {
		u := uses[name]
		uses[name] = use{CPU: u.CPU + cpu.Seconds(), Started: u.Started + started}
		total -= cpu
	}
	for _, p := range s.all {
		add(p.program, p.own, 1)
	}
	for p, unseen := range s.unseen() {
		add("unseen below "+p.program, unseen, 0)
	}
	if total > 0 {
		add("not seen", total, 0)
	}
	return uses
}

// unseen is what processes waited for beyond the children that were seen. What a child
// took at its last look may not yet have been in its parent's sum at the parent's.
func (s *sampler) unseen() map[*process]time.Duration {
	gone := map[*process][]*process{}
	for _, p := range s.all {
		if p.parent != nil && !p.orphan && (!p.alive || p.zombie) {
			gone[p.parent] = append(gone[p.parent], p)
		}
	}
	left := map[*process]time.Duration{}
	var below func(p *process) time.Duration
	below = func(p *process) time.Duration {
		var sum time.Duration
		for _, child := range gone[p] {
			sum += child.own + below(child)
		}
		left[p] = max(0, p.waited-sum)
		return sum + left[p]
	}
	for _, p := range s.all {
		if _, done := left[p]; !done {
			below(p)
		}
	}
	return left
}

// byFolder adds up what the tests in each folder took, with all that they started.
func (s *sampler) byFolder() map[string]use {
	uses := map[string]use{}
	unseen := s.unseen()
	for _, p := range s.all {
		folder := ""
		for q := p; q != nil && folder == ""; q = q.parent {
			folder = q.folder
		}
		if folder == "" {
			continue
		}
		u := uses[folder]
		u.CPU += (p.own + unseen[p]).Seconds()
		if p.program == apiServer {
			u.APIServers++
		}
		uses[folder] = u
	}
	return uses
}
