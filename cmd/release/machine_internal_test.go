//go:build soak

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/pages"
)

// boot runs what PID 1 of a machine needs, and becomes systemd: file systems of its own,
// and none of the units that this Debian would start, but for the journal.
const boot = `
set -e
cd "$1"
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t tmpfs -o mode=755 tmpfs dev
for device in null:3 zero:5 full:7 random:8 urandom:9; do
	mknod -m 666 "dev/${device%:*}" c 1 "${device#*:}"
done
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t sysfs -o ro sysfs sys
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	mount -t cgroup2 cgroup2 sys/fs/cgroup
else
	mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
	mkdir sys/fs/cgroup/systemd
	mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
fi
rm -rf etc/systemd/system/*.wants usr/lib/systemd/system-generators
find usr/lib/systemd/system -path '*.wants/*' ! -name '*journal*' -delete
mkdir old
pivot_root . old
mount -t proc proc proc
umount -l old
exec env -i container=axle PATH=/usr/sbin:/usr/bin /usr/lib/systemd/systemd --system --unit=multi-user.target --show-status=no
`

// booted is a machine with its own processes, network and name, whose PID 1 is systemd.
type booted struct {
	machine
	systemd *exec.Cmd
}

func bootMachine(t *testing.T, files string) *booted {
	t.Helper()
	m := newMachine(t, files)
	b := &booted{machine: m, systemd: exec.Command("bash", "-c", boot, "boot", m.dir)}
	log := &strings.Builder{}
	b.systemd.Stdout, b.systemd.Stderr = log, log
	b.systemd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWNET | syscall.CLONE_NEWCGROUP,
		Unshareflags: syscall.CLONE_NEWNS, // no mount of it reaches this machine
		Pdeathsig:    syscall.SIGKILL,
	}
	if err := b.systemd.Start(); err != nil {
		t.Fatalf("start systemd: %v; it needs root, and Debian's packages of test/deps.sh", err)
	}
	t.Cleanup(func() {
		_ = b.systemd.Process.Kill() // all its processes end with it
		_ = b.systemd.Wait()         // by that signal
		if t.Failed() {
			t.Logf("systemd: %s", log)
		}
	})
	eventually.For(t, time.Minute, "systemd runs", func() error {
		out, err := b.run("systemctl is-system-running")
		if err != nil && strings.TrimSpace(out) != "degraded" {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	return b
}

// run runs a script as root of the machine, beside its systemd.
func (b *booted) run(script string) (string, error) {
	b.t.Helper()
	c := exec.CommandContext(b.t.Context(), "nsenter", "--target", fmt.Sprint(b.systemd.Process.Pid), "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup",
		"--", "bash", "-euo", "pipefail", "-c", "cd /packages && "+script)
	c.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LC_ALL=C", "HOME=/root", "DEBIAN_FRONTEND=noninteractive"}
	out, err := c.CombinedOutput()
	return string(out), err
}

func (b *booted) does(script string) string {
	b.t.Helper()
	out, err := b.run(script)
	b.t.Logf("%s\n%s", script, out)
	if err != nil {
		journal, _ := b.run("journalctl --no-pager --unit axle-hub | tail -20") // to say why
		b.t.Fatalf("%s: %v\n%s%s", script, err, out, journal)
	}
	return out
}

// programs are this tree's hub and client, with a certificate of axle.example.com.
func programs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"axle", "axle-hub"} {
		path, err := bin.Path(t.Context(), name, bin.Options{})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(read(t, path)), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=axle.example.com",
		"-addext", "subjectAltName=DNS:axle.example.com", "-keyout", filepath.Join(dir, "tls.key"), "-out", filepath.Join(dir, "tls.crt")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// TestThePageInstallOnAMachine runs the page as it stands on a machine whose PID 1 is
// systemd: user, unit, certificate, login and uninstall. The machine's own file of
// authorities stands for a public one.
func TestThePageInstallOnAMachine(t *testing.T) {
	const page = "docs/install/machine.md"
	b := bootMachine(t, programs(t))
	b.public()
	b.does("install -m 755 axle /usr/local/bin/")
	unit, err := pages.Blocks(filepath.Join(root, page), "ini")
	if err != nil || len(unit) != 1 {
		t.Fatalf("%d units, %v", len(unit), err)
	}
	b.does("cat >/etc/systemd/system/axle-hub.service <<'END'\n" + unit[0].Text + "END\n")
	blocks, err := pages.Script(filepath.Join(root, page))
	if err != nil || len(blocks) != 3 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	b.does(blocks[0].Text)
	b.does("systemd-analyze verify /etc/systemd/system/axle-hub.service")
	if out := b.does(blocks[1].Text); !strings.Contains(out, "logged in to https://axle.example.com as you@example.com") || !strings.Contains(out, "https://axle.example.com  alive") {
		t.Errorf("the hub says %s", out)
	}
	// It runs as the page wants it, and comes back when it is killed.
	if out := b.does("systemctl show axle-hub --property=User,Restart; ps -o user= -C axle-hub; stat -c '%U %a' /var/lib/axle/hub.db"); !strings.Contains(out, "axle\naxle ") {
		t.Errorf("the hub runs as %s", out)
	}
	b.does("systemctl kill --signal=KILL axle-hub")
	eventually.For(t, time.Minute, "the hub is back", func() error {
		out, err := b.run("axle clusters create edge-1")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	b.does(blocks[2].Text)
	if out, err := b.run("ls -d /var/lib/axle /etc/axle /usr/local/bin/axle-hub; id axle; systemctl is-active axle-hub"); err == nil || strings.Contains(out, "\n/") || strings.Contains(out, "uid=") {
		t.Errorf("left: %s", out)
	}
}

// public makes the certificate one of a public authority.
func (b *booted) public() {
	b.t.Helper()
	b.does("echo 127.0.0.1 axle.example.com >>/etc/hosts; cat tls.crt >>/etc/ssl/certs/ca-certificates.crt")
}

// TestPackagesUnderSystemd installs the packages of this tree's hub, by dpkg and by rpm,
// starts, upgrades and removes them: the unit's protection leaves the hub what it needs
// (git, which each start tries, and its folder), settings and data stay. rpm knows
// nothing of what dpkg installed, so what the package requires is looked up by hand.
func TestPackagesUnderSystemd(t *testing.T) {
	dir := programs(t)
	packages := makePackagesOf(t, map[string]string{"axle": filepath.Join(dir, "axle"), "axle-hub": filepath.Join(dir, "axle-hub")}, "1.4.2", "1.5.0")
	for kind, with := range map[string]struct{ install, upgrade, remove string }{
		"deb": {"dpkg --install ./%s_%s_amd64.deb", "dpkg --install ./%s_%s_amd64.deb", "dpkg --purge axle-hub axle"},
		"rpm": {"rpm --install --nodeps ./%s_%s_amd64.rpm", "rpm --upgrade --nodeps ./%s_%s_amd64.rpm", "rpm --erase axle-hub axle"},
	} {
		t.Run(kind, func(t *testing.T) {
			files := t.TempDir()
			for _, pattern := range []string{filepath.Join(packages, "*."+kind), filepath.Join(dir, "tls.*")} {
				found, err := filepath.Glob(pattern)
				for _, file := range found {
					err = errors.Join(err, os.Link(file, filepath.Join(files, filepath.Base(file))))
				}
				if err != nil || len(found) < 2 {
					t.Fatalf("%v, %v", found, err)
				}
			}
			b := bootMachine(t, files)
			b.does(fmt.Sprintf(with.install, "axle", "1.4.2") + "\n" + fmt.Sprintf(with.install, "axle-hub", "1.4.2"))
			if kind == "rpm" {
				out := b.does("rpm --query --requires axle-hub; git --version; stat -c '%U:%G %a' /etc/axle-hub/axle-hub.env; rpm --verify --nodeps --nogroup axle axle-hub")
				if !strings.Contains(out, "git\n") || !strings.Contains(out, "ca-certificates\n") || !strings.Contains(out, "root:axle-hub 640\n") {
					t.Errorf("the package: %s", out)
				}
			}
			b.public()
			b.does("systemd-analyze verify /usr/lib/systemd/system/axle-hub.service")
			b.does("echo 'AXLE_HUB_FLAGS=--listen :8443 --external-url https://axle.example.com:8443 --tls-cert /etc/axle-hub/tls.crt --tls-key /etc/axle-hub/tls.key' >/etc/axle-hub/axle-hub.env" +
				" && install -m 644 tls.crt /etc/axle-hub/ && install -m 640 -g axle-hub tls.key /etc/axle-hub/")
			b.does("systemctl enable --now axle-hub")
			b.does("axle login https://axle.example.com:8443 --setup-token-file /var/lib/axle-hub/setup-token --email you@example.com && axle clusters create edge-1")

			before := b.does("systemctl show --property=MainPID axle-hub")
			b.does(fmt.Sprintf(with.upgrade, "axle-hub", "1.5.0"))
			if after := b.does("systemctl show --property=MainPID axle-hub"); after == before || after == "MainPID=0\n" {
				t.Errorf("after the upgrade the hub is %s, before it was %s", after, before)
			}
			if out := b.does("axle clusters list && grep -c 8443 /etc/axle-hub/axle-hub.env && journalctl --no-pager --unit axle-hub | grep -c 'hub runs'"); !strings.Contains(out, "edge-1") || !strings.HasSuffix(out, "\n1\n2\n") {
				t.Errorf("after the upgrade: %s", out)
			}
			b.does(with.remove)
			if out := b.does("ls /var/lib/axle-hub; ls -d /usr/bin/axle-hub /usr/bin/axle 2>&1 || true; systemctl is-active axle-hub || true"); !strings.Contains(out, "hub.db") || strings.Contains(out, "\n/usr/bin") || strings.Contains(out, "\nactive") {
				t.Errorf("left: %s", out)
			}
		})
	}
}
