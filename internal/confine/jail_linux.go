//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights for a path.
const (
	readFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runFiles  = readFiles | unix.LANDLOCK_ACCESS_FS_EXECUTE
	// ownFiles is everything except devices and sockets.
	ownFiles = runFiles | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// onlyFiles are the rights that a rule for a file, not a folder, may have.
	onlyFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// system is what programs need of the machine: programs, libraries and time zones,
// and devices without state. Not /proc, /etc or /run.
var system = map[string]uint64{
	"/usr": runFiles, "/bin": runFiles, "/sbin": runFiles, "/lib": runFiles, "/lib64": runFiles,
	"/etc/ld.so.cache": readFiles, "/etc/localtime": readFiles,
	"/dev/null": readFiles | unix.LANDLOCK_ACCESS_FS_WRITE_FILE, "/dev/zero": readFiles, "/dev/random": readFiles, "/dev/urandom": readFiles,
}

// errNoLandlock says what is missing and what to do.
var errNoLandlock = errors.New("the node's kernel has no Landlock (Linux 5.13, with landlock among lsm=), without it a tool could read files of others; use a WASM module instead")

// jail limits this thread, and the program that it becomes, to the given folders. It
// reports whether signals stay inside too, which Linux supports since 6.12.
func jail(own string, programs []string) (signalsInside bool, err error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < 1 {
		return false, errNoLandlock
	}
	// The rights that this kernel supports: 13, and more in later versions.
	handled := uint64(1)<<13 - 1
	for version, use := range map[uintptr]uint64{2: unix.LANDLOCK_ACCESS_FS_REFER, 3: unix.LANDLOCK_ACCESS_FS_TRUNCATE, 5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV} {
		if abi >= version {
			handled |= use
		}
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(attr.Handled_access_net)
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(attr.Scoped)
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return false, fmt.Errorf("make the tool's jail: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for path, use := range system {
		if err := allow(int(ruleset), path, use&handled); err != nil && !errors.Is(err, unix.ENOENT) {
			return false, err
		}
	}
	for _, path := range programs {
		if err := allow(int(ruleset), path, runFiles&handled); err != nil {
			return false, err
		}
	}
	if err := allow(int(ruleset), own, ownFiles&handled); err != nil {
		return false, err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return false, fmt.Errorf("enter the tool's jail: %w", errno)
	}
	return abi >= 6, nil
}

// allow adds a rule for a folder and everything below it, or for a file.
func allow(ruleset int, path string, use uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("put %s into the tool's jail: %w", path, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("put %s into the tool's jail: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		use &= onlyFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: use, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("put %s into the tool's jail: %w", path, errno)
	}
	return nil
}
