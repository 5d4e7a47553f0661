package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/axle-cd/axle/test/kube"
)

// ErrNotBuilt is returned when kubelet and kube-proxy are not in the cache.
var ErrNotBuilt = errors.New("kubelet and kube-proxy are not built: run `make nodedev`")

// machine is what the check asks of this one.
type machine struct {
	root bool
	// has reports whether a program is on PATH, or a file is there.
	has func(file string) bool
	// try runs a command that changes nothing lasting, and returns its words if it fails.
	try func(command ...string) error
	// built says what is not in the cache.
	built func() []error
}

// packages are Debian's, with what the node needs of each.
var packages = []struct {
	name  string
	files []string
}{
	{"containerd", []string{"containerd", "containerd-shim-runc-v2"}},
	{"runc", []string{"runc"}},
	{"containernetworking-plugins", []string{plugins + "/ptp", plugins + "/host-local", plugins + "/loopback"}},
	{"docker-registry", []string{"docker-registry"}},
	{"nftables", []string{"nft"}},
	{"dnsmasq-base", []string{"dnsmasq"}},
	{"iproute2", []string{"ip", "ss"}},
	{"util-linux", []string{"nsenter", "unshare"}},
}

// plugins is where Debian puts the network plugins.
const plugins = "/usr/lib/cni"

// tries are what the kernel must permit, in an order in which the first failure explains
// the next.
var tries = []struct {
	command string
	lacks   string
	do      string
}{
	{"unshare --net true", "network namespaces", "use a virtual machine, or a container that may make them (--privileged)"},
	{"unshare --net ip link add name try0 type veth peer name try1", "pairs of virtual links", "load the module veth, or use a kernel with CONFIG_VETH"},
	{"unshare --net nft add table ip axle", "nftables", "load the module nf_tables, or use a kernel with CONFIG_NF_TABLES"},
	{"unshare --mount sh -c 'd=$(mktemp -d) && mount -t tmpfs none $d && mkdir $d/l $d/u $d/w $d/m && mount -t overlay overlay -olowerdir=$d/l,upperdir=$d/u,workdir=$d/w $d/m; r=$?; umount -l $d; rmdir $d; exit $r'",
		"overlay file systems", "load the module overlay, or use a kernel with CONFIG_OVERLAY_FS"},
	{"sh -c 'for c in cpu memory pids; do test -w /sys/fs/cgroup/$c/cgroup.procs || { test -w /sys/fs/cgroup/cgroup.procs && grep -qw $c /sys/fs/cgroup/cgroup.controllers; } || { echo $c; exit 1; }; done' 2>&1",
		"writable cgroups", "mount /sys/fs/cgroup writable, with the controllers cpu, memory and pids"},
	{"test -r /dev/kmsg", "/dev/kmsg, which the kubelet reads", "make it: mknod /dev/kmsg c 1 11"},
}

// Missing names what keeps this machine from running a node, each with what to do. A nil
// answer means that Start can work.
func Missing() []error {
	return missing(machine{
		root: os.Geteuid() == 0,
		has: func(file string) bool {
			_, err := exec.LookPath(file)
			return err == nil
		},
		try: func(command ...string) error {
			out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
			}
			return nil
		},
		built: func() []error {
			_, node := kube.Built(module, "kubelet", ErrNotBuilt)
			_, control := kube.Built("test/kube/kubedev", "kube-apiserver", kube.ErrNotBuilt)
			return []error{control, node}
		},
	})
}

// module holds kubelet and kube-proxy.
const module = "test/node/nodedev"

func missing(m machine) []error {
	var found []error
	var install []string
	for _, p := range packages {
		if i := slices.IndexFunc(p.files, func(file string) bool { return !m.has(file) }); i >= 0 {
			found = append(found, fmt.Errorf("there is no %s", filepath.Base(p.files[i])))
			install = append(install, p.name)
		}
	}
	if len(install) > 0 {
		found = append(found, fmt.Errorf("on Debian: apt-get install --no-install-recommends %s", strings.Join(install, " ")))
	}
	for _, err := range m.built() {
		if err != nil {
			found = append(found, err)
		}
	}
	if !m.root {
		// Nothing that needs root can be tried.
		return append(found, errors.New("this user is not root, and a node makes namespaces, mounts and cgroups: run the same command as root"))
	}
	for _, t := range tries {
		if err := m.try("sh", "-c", t.command); err != nil {
			found = append(found, fmt.Errorf("the kernel permits no %s (%w): %s", t.lacks, err, t.do))
		}
	}
	return found
}
