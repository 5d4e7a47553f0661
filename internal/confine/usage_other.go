//go:build !linux

package confine

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func awaitExit(int) {}

func usage(int) (int, int64) { return 0, 0 }

func diskUsage(string, int64) int64 { return 0 }
