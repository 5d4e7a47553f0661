package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// toolsHere are system calls that only this architecture has.
var toolsHere = []uint32{
	unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT, unix.SYS_EPOLL_CREATE, unix.SYS_EVENTFD, unix.SYS_PIPE, unix.SYS_DUP2,
	unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_ALARM, unix.SYS_PAUSE, unix.SYS_TIME, unix.SYS_FORK, unix.SYS_VFORK,
	unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_GETDENTS,
	unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_RENAME, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_GETPGRP,
}
