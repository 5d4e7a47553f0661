//go:build unix

package main

import "syscall"

// socket tries to open one of each kind.
func socket() error {
	for _, family := range []int{syscall.AF_INET, syscall.AF_INET6, syscall.AF_UNIX, syscall.AF_NETLINK} {
		fd, err := syscall.Socket(family, syscall.SOCK_DGRAM, 0)
		if err == nil {
			syscall.Close(fd)
			return nil
		}
		if err != syscall.EPERM {
			return err
		}
	}
	return syscall.EPERM
}
