package bin

import (
	"bytes"
	"fmt"
	"os"
)

// goTest identifies the go test that runs this process, by the machine's start, its
// number and the time it began; empty if another program does, such as a shell, whose next child must see what
// changed since.
func goTest() string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	if args := bytes.Split(line, []byte{0}); err != nil || len(args) < 2 || string(args[1]) != "test" {
		return ""
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getppid()))
	// The name in parentheses may contain blanks; 19 fields after it is when it began.
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := bytes.Fields(rest)
	boot, unknown := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || unknown != nil || len(fields) < 20 {
		return ""
	}
	return fmt.Sprintf("%s %d %s", bytes.TrimSpace(boot), os.Getppid(), fields[19])
}

// signature is beside a program and says which go test built it.
func signature(path string) string { return path + ".run" }

// builtBy reports whether this go test built the program already.
func builtBy(path, run string) bool {
	have, err := os.ReadFile(signature(path))
	return err == nil && run != "" && string(have) == run
}

// sign notes who built the program.
func sign(path, run string) error { return os.WriteFile(signature(path), []byte(run), 0o644) }
