package kubelet

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// mount puts a file or folder of this machine at a path of the container.
type mount struct {
	source, target string
	readOnly       bool
	file           bool
}

// sandbox is the root that one start of a container sees.
type sandbox struct {
	dir      string // empty, of its own
	hostname string
	workdir  string
	readOnly bool // the root, volumes aside
	user     identity
	mounts   []mount
}

// mounts lists the container's volumes and the binaries of its image.
func (p *pod) mounts(c *corev1.Container, img image) ([]mount, error) {
	var mounts []mount
	for name, file := range img.files {
		mounts = append(mounts, mount{source: file, target: path.Join(binDir, name), readOnly: true, file: true})
	}
	for _, m := range c.VolumeMounts {
		source, err := p.mountSource(m)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.Name, err)
		}
		readOnly := m.ReadOnly || p.fromAPI(m.Name)
		mounts = append(mounts, mount{source: source, target: path.Clean(m.MountPath), readOnly: readOnly, file: !info.IsDir()})
	}
	// An outer path is mounted before the paths inside it.
	slices.SortFunc(mounts, func(a, b mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.target, "/"), strings.Count(b.target, "/")), cmp.Compare(a.target, b.target))
	})
	return mounts, nil
}

func (p *pod) mountSource(m corev1.VolumeMount) (string, error) {
	for _, v := range p.object.Spec.Volumes {
		if v.Name != m.Name {
			continue
		}
		source := p.volumeDir(v.Name)
		if v.HostPath != nil {
			source = v.HostPath.Path
		}
		if m.SubPath == "" {
			return source, nil
		}
		source = filepath.Join(source, filepath.Clean("/"+m.SubPath))
		if v.EmptyDir != nil {
			if err := os.MkdirAll(source, 0o777); err != nil {
				return "", err
			}
		}
		return filepath.EvalSymlinks(source)
	}
	return "", fmt.Errorf("the pod has no volume %s", m.Name)
}

// fromAPI says whether a volume's content is the API's, which a container may
// only read.
func (p *pod) fromAPI(volume string) bool {
	for _, v := range p.object.Spec.Volumes {
		if v.Name == volume {
			return v.HostPath == nil && v.EmptyDir == nil && v.PersistentVolumeClaim == nil
		}
	}
	return false
}

// readyFD is the descriptor on which the script says that the root is made; a
// pipe that ends without a word says that it failed.
const readyFD = 3

// command runs args in the sandbox. The shell that makes the root is the first
// process of the namespaces and becomes the program by exec.
func (s sandbox) command(args []string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", s.outer(), "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:    true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS,
	}
	return cmd
}

// outer makes the root. The memory file system holds all that the container
// writes outside its volumes, and nothing on the machine changes: the mounts
// are private to the namespace and go with its last process.
func (s sandbox) outer() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("set -e; p=$PATH; PATH=/usr/sbin:/usr/bin:/sbin:/bin; umask 022")
	line("mount --make-rprivate /")
	line("mount -t tmpfs -o mode=0755 axle %s", quote(s.dir))
	line("cd %s; mkdir upper work root", quote(s.dir))
	line("mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root")
	line("mkdir root/.m")
	for i, m := range s.mounts {
		if m.file {
			line(": > root/.m/%d", i)
		} else {
			line("mkdir root/.m/%d", i)
		}
		line("mount --bind %s root/.m/%d", quote(m.source), i)
	}
	line("mount -t proc proc root/proc; mount --rbind /sys root/sys")
	line("echo %s > root/proc/sys/kernel/hostname", quote(s.hostname))
	line("mount -t tmpfs -o mode=0755 dev root/dev; mkdir root/dev/pts root/dev/shm")
	line("for d in null zero full random urandom tty ptmx; do : > root/dev/$d; mount --bind /dev/$d root/dev/$d; done")
	line("if [ -d /dev/pts ]; then mount --bind /dev/pts root/dev/pts; fi; mount -t tmpfs shm root/dev/shm")
	line("ln -s /proc/self/fd root/dev/fd; ln -s fd/0 root/dev/stdin; ln -s fd/1 root/dev/stdout; ln -s fd/2 root/dev/stderr")
	if !s.readOnly {
		line("mount -t tmpfs -o mode=1777 tmp root/tmp")
	}
	line(`exec chroot root /bin/sh -c %s sh "$p" "$@"`, quote(s.inner()))
	return b.String()
}

// inner runs with the new root, so that links such as /var/run lead to places
// inside it.
func (s sandbox) inner() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("set -e; p=$1; shift")
	for i, m := range s.mounts {
		target := quote(m.target)
		if m.file {
			line("mkdir -p %s; [ -e %s ] || : > %s", quote(path.Dir(m.target)), target, target)
		} else {
			line("mkdir -p %s", target)
		}
		line("mount --bind /.m/%d %s", i, target)
		if m.readOnly {
			line("mount -o remount,bind,ro %s", target)
		}
		line("umount /.m/%d", i)
	}
	line("rm -r /.m")
	if s.workdir != "" {
		line("mkdir -p %s", quote(s.workdir))
	}
	if s.readOnly {
		line("mount -o remount,ro /")
	}
	line("cd %s", quote(cmp.Or(s.workdir, "/")))
	line("PATH=$p; echo >&%d; exec %d>&-", readyFD, readyFD)
	line(`exec %s "$@"`, s.user.become())
	return b.String()
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// canIsolate tries a sandbox once.
func (k *Kubelet) canIsolate() bool {
	dir := filepath.Join(k.cfg.Dir, "probe")
	if os.MkdirAll(dir, 0o755) != nil {
		return false
	}
	cmd := sandbox{dir: dir, hostname: "probe"}.command([]string{"/bin/true"})
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	read, write, err := os.Pipe()
	if err != nil {
		return false
	}
	defer read.Close()
	cmd.ExtraFiles = []*os.File{write}
	err = k.cfg.Start(cmd)
	write.Close()
	return err == nil && cmd.Wait() == nil
}

// enter runs args inside a running container. The program's namespaces, root
// and working folder are those of its first process.
func enter(pid int, user identity, args []string) *exec.Cmd {
	into := []string{fmt.Sprintf("--target=%d", pid), "--mount", "--pid", "--uts", "--root", "--wd"}
	if user.become() != "" {
		into = append(into, fmt.Sprintf("--setuid=%d", user.uid), fmt.Sprintf("--setgid=%d", user.gid))
	}
	cmd := exec.Command("nsenter", append(append(into, "--"), args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	return cmd
}
