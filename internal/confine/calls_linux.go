//go:build amd64 || arm64

package confine

import "golang.org/x/sys/unix"

// tools are the system calls that ordinary programs and shells need to compute on
// files and to run each other. Deliberately missing are: sockets of any family,
// io_uring, ptrace and other processes' memory, namespaces, mounts, keys, another
// process group or session, and changes of the mode, owner or times of a file by its
// path, which Landlock does not cover.
var tools = append([]uint32{
	// Files.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64,
	unix.SYS_PREADV, unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_SENDFILE, unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE, unix.SYS_TEE,
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX,
	unix.SYS_STATFS, unix.SYS_FSTATFS, unix.SYS_GETDENTS64, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
	unix.SYS_FCNTL, unix.SYS_FLOCK, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FADVISE64,
	unix.SYS_FCHMOD, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_GETCWD, unix.SYS_UMASK, unix.SYS_IOCTL, unix.SYS_MEMFD_CREATE,
	unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2, unix.SYS_PPOLL, unix.SYS_PSELECT6,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_EVENTFD2,
	unix.SYS_TIMERFD_CREATE, unix.SYS_TIMERFD_SETTIME, unix.SYS_TIMERFD_GETTIME, unix.SYS_SIGNALFD4,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_INOTIFY_RM_WATCH,
	// Memory.
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_MSYNC,
	unix.SYS_MEMBARRIER, unix.SYS_GET_MEMPOLICY,
	// Threads, processes and time.
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_PIDFD_OPEN,
	unix.SYS_PRCTL, unix.SYS_SET_TID_ADDRESS, unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_GET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER, unix.SYS_GETPRIORITY,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_TIMES,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_GETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER, unix.SYS_GETITIMER,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGSUSPEND, unix.SYS_RT_SIGTIMEDWAIT,
	unix.SYS_RT_SIGPENDING, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	// Who and where.
	unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETPGID, unix.SYS_GETSID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID,
	unix.SYS_GETEGID, unix.SYS_GETRESUID, unix.SYS_GETRESGID, unix.SYS_GETGROUPS, unix.SYS_CAPGET, unix.SYS_UNAME, unix.SYS_SYSINFO,
	unix.SYS_GETRLIMIT, unix.SYS_PRLIMIT64, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM, unix.SYS_GETCPU,
}, toolsHere...)

// signals are allowed if Landlock limits them to the tool's own processes.
var signals = []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL}

// newNamespaces are flags of clone that give a process new namespaces, and rights in
// them.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// toolFilter is the filter of a tool; inside says that signals stay among its
// processes.
func toolFilter(inside bool) []unix.SockFilter {
	list := tools
	if inside {
		list = append(append([]uint32{}, tools...), signals...)
	}
	return filter(list, clone{refuse: newNamespaces}, unix.EPERM)
}
