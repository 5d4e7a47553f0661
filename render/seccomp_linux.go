//go:build amd64 || arm64

package render

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

// allowed is what the Go runtime and two pipes need. Everything else fails
// with EPERM: no sockets, no programs, no files to be opened, no other
// process. A list of what is allowed cannot forget a call that a new kernel
// brings, io_uring for one.
var allowed = append([]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64,
	unix.SYS_CLOSE, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_FCNTL, unix.SYS_DUP,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP,
	unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_PRCTL,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_NANOSLEEP,
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_GETTIMEOFDAY,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_TGKILL, unix.SYS_RESTART_SYSCALL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
	unix.SYS_GETRANDOM, unix.SYS_GETRLIMIT, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}, allowedHere...)

// filterSyscalls loads the filter on all threads.
func filterSyscalls() error {
	program := filter(auditArch, allowed)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	failed, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("load the system call filter: %w; the node's kernel needs seccomp", errno)
	}
	if failed != 0 {
		return fmt.Errorf("load the system call filter: thread %d would not take it", failed)
	}
	return nil
}

// filter writes the program: another architecture's calls kill the process,
// new threads are allowed and new processes are not, the list is allowed, and
// the rest is EPERM. clone3 hides its flags from a filter, so it is ENOSYS,
// which makes callers fall back to clone.
func filter(arch uint32, list []uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	program := []unix.SockFilter{
		load(offsetArch),
		jump(unix.BPF_JEQ, arch, 1, 0),
		end(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber),
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1),
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(offsetArg0Low),
		jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1),
		end(unix.SECCOMP_RET_ALLOW),
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
	}
	for _, number := range list {
		program = append(program,
			jump(unix.BPF_JEQ, number, 0, 1),
			end(unix.SECCOMP_RET_ALLOW))
	}
	return append(program, end(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)))
}
