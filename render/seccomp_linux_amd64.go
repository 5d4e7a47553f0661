package render

import "golang.org/x/sys/unix"

// allowedHere are calls that only this architecture has.
var allowedHere = []uint32{unix.SYS_ARCH_PRCTL, unix.SYS_EPOLL_WAIT}
