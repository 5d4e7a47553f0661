package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func checkPackages(t *testing.T, dir string) {
	file := filepath.Join(dir, "files", "axle-hub_1.4.2_amd64.deb")
	out, err := exec.Command("dpkg-deb", "--contents", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"./usr/bin/axle-hub", "./usr/lib/systemd/system/axle-hub.service", "./etc/axle-hub/axle-hub.env", "./usr/lib/sysusers.d/axle-hub.conf"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the package lacks %s:\n%s", want, out)
		}
	}
	out, err = exec.Command("dpkg-deb", "--field", file, "Version", "Depends", "Architecture").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1.4.2") || !strings.Contains(string(out), "git, ca-certificates") || !strings.Contains(string(out), "amd64") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = exec.Command("rpm", "--query", "--package", "--nosignature", "--list", "--requires", filepath.Join(dir, "files", "axle-hub_1.4.2_amd64.rpm")).CombinedOutput()
	for _, want := range []string{"/usr/bin/axle-hub\n", "/usr/lib/systemd/system/axle-hub.service\n", "/etc/axle-hub/axle-hub.env\n", "/usr/lib/sysusers.d/axle-hub.conf\n", "git\n", "ca-certificates\n"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("the package of rpm lacks %q: %v\n%s", want, err, out)
		}
	}
}

// makePackages makes the hub's packages of some versions; the program says its version.
func makePackages(t *testing.T, versions ...string) string {
	t.Helper()
	return makePackagesOf(t, nil, versions...)
}

// makePackagesOf makes packages of programs.
func makePackagesOf(t *testing.T, programs map[string]string, versions ...string) string {
	t.Helper()
	p := &plan{source: checkout(t), out: t.TempDir(), when: time.Unix(1700000000, 0).UTC(), targets: []target{{"linux", "amd64"}}, built: map[target]map[string]string{}, say: t.Logf}
	var err error
	if p.packager, err = filepath.Abs(filepath.Join(root, "tools", "nfpm.mod")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"files", ".programs"} {
		if err := os.Mkdir(filepath.Join(p.out, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range versions {
		p.version, p.built[p.targets[0]] = version, programs
		if programs == nil {
			program := filepath.Join(p.out, ".programs", "program")
			if err := os.WriteFile(program, []byte("#!/bin/sh\necho hub "+version+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			p.built[p.targets[0]] = map[string]string{"axle": program, "axle-hub": program}
		}
		if err := p.packages(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(p.out, "files")
}

// machine is a copy of this Debian, in which packages are installed for real. Its
// systemctl only writes down what it is told: no systemd runs here.
type machine struct {
	t   *testing.T
	dir string
}

// newMachine lays an overlay over the root of this machine.
func newMachine(t *testing.T, packages string) machine {
	t.Helper()
	base := t.TempDir()
	mount := func(source, target, kind, options string) {
		t.Helper()
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(source, target, kind, 0, options); err != nil {
			t.Fatalf("mount %s on %s: %v; run the tests as root, on Debian", kind, target, err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	mount("tmpfs", base, "tmpfs", "size=2g,mode=755")
	m := machine{t, filepath.Join(base, "root")}
	for _, dir := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mount("overlay", m.dir, "overlay", fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s", filepath.Join(base, "upper"), filepath.Join(base, "work")))
	mount("proc", filepath.Join(m.dir, "proc"), "proc", "")
	if err := unix.Mknod(m.path("/dev/null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	if err := os.CopyFS(m.path("/packages"), os.DirFS(packages)); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m machine) path(name string) string { return filepath.Join(m.dir, name) }

// try runs a program of the machine as root.
func (m machine) try(args ...string) (string, error) {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), "/usr/bin/env", args...)
	c.Dir, c.Env = "/", []string{"PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "HOME=/root"}
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: m.dir}
	out, err := c.CombinedOutput()
	m.t.Logf("%v: %v\n%s", args, err, out)
	return string(out), err
}

func (m machine) must(args ...string) string {
	m.t.Helper()
	out, err := m.try(args...)
	if err != nil {
		m.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out
}

func (m machine) write(name, content string, mode os.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), []byte(content), mode); err != nil {
		m.t.Fatal(err)
	}
}

// has reads a file and says whether it is there.
func (m machine) has(name string) (string, bool) {
	data, err := os.ReadFile(m.path(name))
	return string(data), err == nil
}

const (
	hubEnv  = "/etc/axle-hub/axle-hub.env"
	hubData = "/var/lib/axle-hub/hub.db"
	calls   = "/var/log/systemctl"
)

// systemd makes the machine one whose systemd runs: a script.
func (m machine) systemd(script string) {
	m.write("/run/systemd/system/keep", "", 0o644)
	m.write("/usr/local/sbin/systemctl", "#!/bin/sh\n"+script+"\n", 0o755)
}

// told is what systemd was told since the last time.
func (m machine) told() string {
	text, _ := m.has(calls)
	_ = os.Remove(m.path(calls))
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n", " ; ")), " ")
}

// TestPackageOfDebian installs the hub's package with dpkg, upgrades it, removes it and
// purges it: settings and data stay as long as they should.
func TestPackageOfDebian(t *testing.T) {
	packages := makePackages(t, "1.4.1", "1.5.0-rc.1", "1.5.0")
	deb := func(version string) string { return "/packages/axle-hub_" + version + "_amd64.deb" }
	for name, prepare := range map[string]func(m machine){
		"with sysusers":    func(machine) {},
		"without sysusers": func(m machine) { m.must("rm", "-f", "/usr/bin/systemd-sysusers", "/bin/systemd-sysusers") },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, packages)
			prepare(m)
			m.must("dpkg", "--install", deb("1.4.1"))
			if got := m.must("stat", "-c", "%U:%G %a", hubEnv); got != "root:axle-hub 640\n" {
				t.Errorf("the settings are %s", got)
			}
			if got := m.must("getent", "passwd", "axle-hub"); !strings.HasSuffix(got, ":/var/lib/axle-hub:/usr/sbin/nologin\n") {
				t.Errorf("the user is %s", got)
			}
			m.write(hubEnv, "AXLE_HUB_FLAGS=mine\n", 0o640)
			m.must("install", "-d", "-o", "axle-hub", "-g", "axle-hub", "-m", "700", filepath.Dir(hubData))
			m.write(hubData, "data", 0o600)
			m.must("chown", "axle-hub:", hubData)
			keeps := func(when string) {
				t.Helper()
				if env, _ := m.has(hubEnv); env != "AXLE_HUB_FLAGS=mine\n" {
					t.Errorf("%s the settings are %q", when, env)
				}
				if data, _ := m.has(hubData); data != "data" || m.must("stat", "-c", "%U %a", hubData) != "axle-hub 600\n" {
					t.Errorf("%s the data is %q", when, data)
				}
			}

			m.systemd(`echo "$*" >>` + calls)
			for _, version := range []string{"1.5.0-rc.1", "1.5.0", "1.4.1", "1.5.0"} {
				out := m.must("dpkg", "--install", deb(version))
				if downgrade := strings.Contains(out, "downgrading"); downgrade != (version == "1.4.1") {
					t.Errorf("to %s: downgrade %v", version, downgrade)
				}
				if got := m.must("axle-hub"); got != "hub "+version+"\n" {
					t.Errorf("the program is %s", got)
				}
				keeps("after " + version)
				if got := m.told(); !strings.HasSuffix(got, "daemon-reload ; try-restart axle-hub.service ;") || strings.Contains(got, "disable") {
					t.Errorf("the upgrade to %s told systemd %q", version, got)
				}
			}
			m.must("dpkg", "--remove", "axle-hub")
			keeps("after it was removed")
			if _, there := m.has("/usr/bin/axle-hub"); there {
				t.Error("the program is still there")
			}
			if got := m.told(); got != "disable --now axle-hub.service ; daemon-reload ;" {
				t.Errorf("the removal told systemd %q", got)
			}
			m.must("dpkg", "--install", deb("1.5.0"))
			keeps("after it was installed again")

			// A purge takes the settings, and says where the data is.
			out := m.must("dpkg", "--purge", "axle-hub")
			if _, there := m.has(hubEnv); there || !strings.Contains(out, "stays in /var/lib/axle-hub") {
				t.Errorf("after the purge, settings %v: %s", there, out)
			}
			if data, _ := m.has(hubData); data != "data" {
				t.Error("the purge took the data")
			}
		})
	}
}

// TestPackageOnABrokenMachine: nothing that is wrong there leaves the package half
// configured, which would stop every later apt.
func TestPackageOnABrokenMachine(t *testing.T) {
	packages := makePackages(t, "1.4.1", "1.5.0")
	m := newMachine(t, packages)
	m.must("dpkg", "--install", "/packages/axle-hub_1.4.1_amd64.deb")
	// Somebody deleted the settings, and the hub does not start.
	m.must("rm", hubEnv)
	m.systemd(`[ "$1" = daemon-reload ]`)
	if out := m.must("dpkg", "--install", "/packages/axle-hub_1.5.0_amd64.deb"); !strings.Contains(out, "journalctl -u axle-hub says why") {
		t.Errorf("a hub that does not start: %s", out)
	}
	if _, there := m.has(hubEnv); there {
		t.Error("the settings that somebody deleted came back")
	}
	if out := m.must("dpkg", "--remove", "axle-hub"); !strings.Contains(out, "systemctl status axle-hub says why") {
		t.Errorf("a hub that does not stop: %s", out)
	}
	if got := m.must("dpkg-query", "--show", "--showformat", "${db:Status-Abbrev}", "axle-hub"); !strings.HasPrefix(got, "rc") && !strings.HasPrefix(got, "un") {
		t.Errorf("the package is %q", got)
	}
	if out, err := m.try("dpkg", "--audit"); err != nil || out != "" {
		t.Errorf("%v: %s", err, out)
	}
}
