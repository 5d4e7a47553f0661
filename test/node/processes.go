package node

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is one of a pod, as the kernel of this machine knows it.
type Process struct {
	PID int
	// Program is the path of its program in its image.
	Program string
	UID     int
	// ReadOnlyRoot, NoNewPrivileges and Seccomp say that these are in force.
	ReadOnlyRoot, NoNewPrivileges, Seccomp bool
	// Capabilities are the effective ones in hexadecimal, zeros if there are none.
	Capabilities string
}

// Processes lists those of all pods. One that ends meanwhile is left out.
func (n *Node) Processes() []Process {
	var found []Process
	for _, pid := range members() {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		program, err := os.Readlink(filepath.Join(dir, "exe"))
		status, failed := os.ReadFile(filepath.Join(dir, "status"))
		mounts, unread := os.ReadFile(filepath.Join(dir, "mountinfo"))
		if err != nil || failed != nil || unread != nil {
			continue
		}
		p := Process{PID: pid, Program: program, ReadOnlyRoot: readOnlyRoot(mounts)}
		for line := range bytes.Lines(status) {
			name, value, _ := strings.Cut(string(line), ":")
			fields := strings.Fields(value)
			if len(fields) == 0 {
				continue
			}
			switch name {
			case "Uid":
				p.UID, _ = strconv.Atoi(fields[1]) // the effective one
			case "NoNewPrivs":
				p.NoNewPrivileges = fields[0] == "1"
			case "Seccomp":
				p.Seccomp = fields[0] == "2"
			case "CapEff":
				p.Capabilities = fields[0]
			}
		}
		found = append(found, p)
	}
	return found
}

// readOnlyRoot reports whether the root of a mountinfo takes no writes.
func readOnlyRoot(mountinfo []byte) bool {
	for line := range bytes.Lines(mountinfo) {
		fields := strings.Fields(string(line))
		if len(fields) > 5 && fields[4] == "/" {
			return strings.HasPrefix(fields[5]+",", "ro,")
		}
	}
	return false
}
