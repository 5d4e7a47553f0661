package install_test

import (
	"strings"
	"testing"
)

// A person installs, is logged in, has the cluster of the hub connected, and the
// operator writes what is declared there.
func TestInstallAndUninstall(t *testing.T) {
	b := newBed(t)
	out := b.must("install", "--kubeconfig", b.Kubeconfig(), "--values", b.values, "--email", "you@example.test", "--timeout", "90s")
	if !strings.Contains(out, "Axle is at "+b.url) || !strings.Contains(out, "next: axle clusters connect") {
		t.Errorf("it ends with %q", out)
	}
	if have := b.must("clusters", "list"); !strings.Contains(have, "mgmt") {
		t.Errorf("clusters: %s", have)
	}
}
