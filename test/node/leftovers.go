package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// cgroup is below which all pods of the node are.
const cgroup = "axle-node"

// endLimit bounds how long processes may take to end after SIGKILL.
const endLimit = 20 * time.Second

// remove ends all that is left of a node: processes of pods, the shims that hold them,
// mounts, cgroups, links, and the folder. It is what Close does, and what Start does to
// a node that was killed. It changes nothing when nothing is there.
func remove(ctx context.Context, dir string) error {
	// Shims first: they would report the end of their pods to a containerd that is gone.
	err := eventually.Wait(ctx, endLimit, func() error {
		left := slices.Concat(shims(dir), members(), inside(ctx))
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) > 0 {
			return fmt.Errorf("processes %v of the node do not end", left)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sockets(dir)
	records(dir)
	if err := unmount(dir); err != nil {
		return err
	}
	if err := removeCgroups(); err != nil {
		return err
	}
	// Either may be gone, and then that is as wanted.
	_ = runAll(ctx, "ip link delete "+link)
	_ = runAll(ctx, "ip netns delete "+namespace)
	if _, err := os.Stat("/run/netns/" + namespace); err == nil {
		return fmt.Errorf("the network namespace %s stays: ip netns delete %s says why", namespace, namespace)
	}
	return os.RemoveAll(dir)
}

// inside are the processes in the network namespace. dnsmasq changes its rights, which
// clears the signal that the others get when their owner is killed.
func inside(ctx context.Context) (pids []int) {
	out, err := exec.CommandContext(ctx, "ip", "netns", "pids", namespace).Output()
	if err != nil {
		return nil // there is no namespace
	}
	for _, word := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// shims are the processes that hold containers of a node in dir.
func shims(dir string) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		words := strings.Split(string(text), "\x00")
		if strings.HasPrefix(filepath.Base(words[0]), "containerd-shim") && slices.Contains(words, filepath.Join(dir, socket)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			found = append(found, pid)
		}
	}
	return found
}

// cgroups are the node's folders in all hierarchies, parents first.
func cgroups() []string {
	var found []string
	roots, _ := filepath.Glob("/sys/fs/cgroup/*/" + cgroup)
	for _, root := range append(roots, "/sys/fs/cgroup/"+cgroup) {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				found = append(found, path)
			}
			return nil
		})
	}
	return found
}

// members are the processes in the node's cgroups, each once.
func members() []int {
	seen := map[int]bool{}
	for _, folder := range cgroups() {
		text, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				seen[pid] = true
			}
		}
	}
	var pids []int
	for pid := range seen {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids
}

func removeCgroups() error {
	var errs []error
	for _, folder := range slices.Backward(cgroups()) {
		if err := syscall.Rmdir(folder); err != nil {
			errs = append(errs, fmt.Errorf("remove the cgroup %s: %w", folder, err))
		}
	}
	return errors.Join(errs...)
}

// sockets removes those of the shims, which lie outside of dir because of their length.
func sockets(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "containerd-state", "io.containerd.runtime.v2.task", "*", "*", "address"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			_ = os.Remove(strings.TrimPrefix(strings.TrimSpace(string(text)), "unix://"))
		}
	}
}

// records removes what others keep of the node's pods: the kubelet's links to logs, and
// what each pod got from the network.
func records(dir string) {
	results, _ := filepath.Glob("/var/lib/cni/results/*")
	for _, file := range results {
		if text, err := os.ReadFile(file); err == nil && bytes.Contains(text, []byte(`"`+dir+"/")) {
			_ = os.Remove(file)
		}
	}
	links, _ := filepath.Glob("/var/log/containers/*")
	for _, file := range links {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, dir+"/") {
			_ = os.Remove(file)
		}
	}
}

// unmount takes away all mounts below dir, the last first.
func unmount(dir string) error {
	for range 100 { // a mount may lie over another one
		text, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return err
		}
		below := mountsBelow(text, dir)
		if len(below) == 0 {
			return nil
		}
		for _, path := range slices.Backward(below) {
			if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
				return fmt.Errorf("unmount %s: %w", path, err)
			}
		}
	}
	return fmt.Errorf("mounts below %s do not go away", dir)
}

// mountsBelow lists the mount points below dir in a mountinfo.
func mountsBelow(mountinfo []byte, dir string) []string {
	var found []string
	for lines := bufio.NewScanner(bytes.NewReader(mountinfo)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		path := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		if strings.HasPrefix(path, dir+"/") {
			found = append(found, path)
		}
	}
	return found
}
