package archtest_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/axle-cd/axle/internal/archtest"
)

func TestAPIServersAreLeased(t *testing.T) {
	_, _, _, packages := load(t)
	text, err := os.ReadFile("apiservers.txt")
	if err != nil {
		t.Fatal(err)
	}
	report(t, archtest.CheckAPIServers(string(text), packages))
}

func TestAPIServerOfItsOwnIsCaught(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"calls/x_test.go":  "package x\nfunc f() { bed.StartCluster() }",
		"value/x.go":       "package x\nvar start = bed.StartCluster",
		"listed/x_test.go": "package x\nfunc f() { bed.StartCluster() }",
		"leases/x_test.go": "package x\nfunc f() { kube.New() }",
	} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := archtest.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	bad := archtest.CheckAPIServers("# a comment\n\nlisted a reason\nlisted twice\ncalls\nleases a reason\ngone a reason\n", packages)
	want := []string{
		"listed: is in apiservers.txt twice",
		"calls: needs a reason in apiservers.txt",
		"leases: starts no API server any more; take its line out of apiservers.txt",
		"gone: starts no API server any more; take its line out of apiservers.txt",
		"value/x.go:2: starts an API server of its own; take kube.New or kube.Lease, or give apiservers.txt the reason",
	}
	if !slices.Equal(bad, want) {
		t.Errorf("got %q, want %q", bad, want)
	}
}
