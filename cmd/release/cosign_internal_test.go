package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
)

// checkCosign lets cosign's own library verify everything that is signed: each image,
// chart and list, both statements of each image, each file and its provenance. With
// another key it accepts nothing. Its module had our versions of what it shares with ours when
// it was last touched, so that most of those packages are compiled already.
func checkCosign(t *testing.T, dir string) {
	if err := bin.Inputs("test/cosign"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "cosign")
	roomy, err := filepath.Abs(filepath.Join(root, "test", "roomy.sh"))
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", noTables, "-toolexec='"+roomy+"'", "-ldflags=-w", "-o", program, ".")
	build.Dir, build.Env = filepath.Join(root, "test", "cosign"), append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOAMD64=v1", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the verifier: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, dir, filepath.Join(dir, "files", "release.pub")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		got[strings.TrimSpace(line)] = true
	}
	var want []string
	for name := range names(t, dir) {
		repository, tag, _ := strings.Cut(name, ":")
		switch {
		case !strings.HasPrefix(tag, "sha256-"):
			want = append(want, "signature "+repository+" 1")
		case strings.HasSuffix(tag, ".att"):
			want = append(want, "statement "+repository+" "+spdxPredicate, "statement "+repository+" "+provenancePredicate)
		}
	}
	for _, f := range glob(t, dir, "files/*") {
		if name := filepath.Base(f); !strings.HasSuffix(name, ".sig") && name != "release.pub" && name != "provenance.intoto.jsonl" {
			want = append(want, "file "+name)
		}
	}
	for _, line := range want {
		if !got[line] {
			t.Errorf("cosign did not verify: %s", line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("cosign verified %d things, want %d", len(got), len(want))
	}
	p := &plan{}
	if err := p.useKey(t.Context(), newKey(t)); err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(t.TempDir(), "other.pub")
	if err := os.WriteFile(stranger, p.publicKey, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, dir, stranger).Output(); err == nil || len(out) != 0 {
		t.Errorf("with another key: %v\n%s", err, out)
	}
}
