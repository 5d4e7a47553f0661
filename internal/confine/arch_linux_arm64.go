package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// toolsHere are system calls that only this architecture has.
var toolsHere []uint32
