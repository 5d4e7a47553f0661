package node

import (
	"errors"
	"strings"
	"testing"
)

// What is missing is named, each with what to do. A machine that has all is not refused.
func TestMissing(t *testing.T) {
	whole := func() machine {
		return machine{
			root: true, has: func(string) bool { return true }, try: func(...string) error { return nil }, built: func() []error { return nil },
		}
	}
	lacks := func(word string) func(...string) error {
		return func(command ...string) error {
			if strings.Contains(strings.Join(command, " "), word) {
				return errors.New("operation not permitted")
			}
			return nil
		}
	}
	tests := map[string]struct {
		change func(*machine)
		want   []string
	}{
		"nothing":                {func(*machine) {}, nil},
		"a package":              {func(m *machine) { m.has = func(f string) bool { return f != "runc" } }, []string{"there is no runc", "apt-get install --no-install-recommends runc"}},
		"a network plugin":       {func(m *machine) { m.has = func(f string) bool { return f != plugins+"/ptp" } }, []string{"there is no ptp", "install --no-install-recommends containernetworking-plugins"}},
		"several packages":       {func(m *machine) { m.has = func(f string) bool { return f != "nft" && f != "ip" } }, []string{"no nft", "no ip", "nftables iproute2"}},
		"kubelet":                {func(m *machine) { m.built = func() []error { return []error{nil, ErrNotBuilt} } }, []string{"make nodedev"}},
		"root":                   {func(m *machine) { m.root, m.try = false, lacks("") }, []string{"not root"}},
		"network namespaces":     {func(m *machine) { m.try = lacks("unshare --net true") }, []string{"permits no network namespaces (operation not permitted): use a virtual machine"}},
		"virtual links":          {func(m *machine) { m.try = lacks("veth") }, []string{"load the module veth"}},
		"nftables in the kernel": {func(m *machine) { m.try = lacks("nft add") }, []string{"permits no nftables", "nf_tables"}},
		"overlay file systems":   {func(m *machine) { m.try = lacks("overlay") }, []string{"permits no overlay", "CONFIG_OVERLAY_FS"}},
		"cgroups":                {func(m *machine) { m.try = lacks("cgroup.procs") }, []string{"writable cgroups", "mount /sys/fs/cgroup writable"}},
		"the kernel's log":       {func(m *machine) { m.try = lacks("/dev/kmsg") }, []string{"mknod /dev/kmsg"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := whole()
			test.change(&m)
			found := missing(m)
			if (len(found) == 0) != (test.want == nil) {
				t.Fatalf("found %v, want %q", found, test.want)
			}
			text := ""
			if err := errors.Join(found...); err != nil {
				text = err.Error()
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q lacks %q", text, want)
				}
			}
			if name == "root" && strings.Contains(text, "kernel") {
				t.Errorf("it tried what only root can: %q", text)
			}
		})
	}
}
