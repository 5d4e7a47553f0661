//go:build amd64 || arm64

package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data on little-endian machines.
const (
	offsetNumber  = 0
	offsetArch    = 4
	offsetArg0Low = 16
)

// Threads loads a filter on all threads of this process. It allows the system calls
// of the list and new threads; all others fail with EPERM.
func Threads(list []uint32) error {
	return load(filter(list, clone{flag: unix.CLONE_THREAD}, unix.EPERM), unix.SECCOMP_FILTER_FLAG_TSYNC)
}

// clone says which calls of clone are allowed: those with flag, if it is set, and
// without any flag in refuse.
type clone struct{ flag, refuse uint32 }

// load loads a filter.
func load(program []unix.SockFilter, flags uintptr) error {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	failed, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("load the system call filter: %w; the node's kernel needs seccomp", errno)
	}
	if failed != 0 {
		return fmt.Errorf("load the system call filter: thread %d did not accept it", failed)
	}
	return nil
}

// filter builds the program: calls for another architecture kill the process, clone
// is judged by its flags, the list is allowed, and the rest fails. clone3 hides its
// flags from a filter, so it returns ENOSYS, which makes callers fall back to clone.
func filter(list []uint32, c clone, otherwise unix.Errno) []unix.SockFilter {
	get := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	program := []unix.SockFilter{
		get(offsetArch),
		jump(unix.BPF_JEQ, auditArch, 1, 0),
		end(unix.SECCOMP_RET_KILL_PROCESS),
		get(offsetNumber),
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1),
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 5),
		get(offsetArg0Low),
		jump(unix.BPF_JSET, c.refuse, 2, 0),
		// A clone call without the flag falls through to the refusal.
		jump(unix.BPF_JSET, c.flag, 0, 1),
		end(unix.SECCOMP_RET_ALLOW),
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
	}
	if c.flag == 0 {
		program[9] = jump(unix.BPF_JGE, 0, 0, 1) // any other call
	}
	for _, number := range list {
		program = append(program,
			jump(unix.BPF_JEQ, number, 0, 1),
			end(unix.SECCOMP_RET_ALLOW))
	}
	return append(program, end(unix.SECCOMP_RET_ERRNO|uint32(otherwise)))
}
