package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// shells are those that install.sh is run with: this machine's sh (dash in Debian), and
// busybox, alone with curl and openssl, as in small images.
func shells(t *testing.T) map[string][2]string {
	t.Helper()
	tools := t.TempDir()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatalf("%v: run make deps", err)
	}
	if out, err := exec.CommandContext(t.Context(), busybox, "--install", "-s", tools).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"curl", "openssl"} {
		program, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(program, filepath.Join(tools, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][2]string{"sh": {sh, os.Getenv("PATH")}, "busybox": {filepath.Join(tools, "sh"), tools}}
}

// checkInstall runs install.sh as somebody would who fetched it: from a server whose
// files are good, altered, missing or cut short.
func checkInstall(t *testing.T, dir string) {
	const archive = "axle_1.4.2_linux_amd64.tar.gz"
	tests := map[string]struct {
		damage func(t *testing.T, files string)
		want   string
	}{
		"good": {func(*testing.T, string) {}, ""},
		"altered program": {func(t *testing.T, files string) {
			change(t, filepath.Join(files, archive), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		}, archive + " was altered"},
		"altered list": {func(t *testing.T, files string) {
			change(t, filepath.Join(files, "checksums.txt"), func(b []byte) []byte { return append(b, '\n') })
		}, "checksums.txt is not signed with the release's key"},
		"another key": {func(t *testing.T, files string) {
			p := &plan{}
			if err := p.useKey(context.Background(), newKey(t)); err != nil {
				t.Fatal(err)
			}
			sig, err := p.sign([]byte(read(t, filepath.Join(files, "checksums.txt"))))
			if err != nil {
				t.Fatal(err)
			}
			change(t, filepath.Join(files, "checksums.txt.sig"), func([]byte) []byte { return []byte(base64.StdEncoding.EncodeToString(sig)) })
			change(t, filepath.Join(files, "release.pub"), func([]byte) []byte { return p.publicKey })
		}, "checksums.txt is not signed with the release's key"},
		"no signature": {func(t *testing.T, files string) {
			if err := os.Remove(filepath.Join(files, "checksums.txt.sig")); err != nil {
				t.Fatal(err)
			}
		}, "checksums.txt.sig could not be fetched"},
		"garbage for a signature": {func(t *testing.T, files string) {
			change(t, filepath.Join(files, "checksums.txt.sig"), func([]byte) []byte { return []byte("<html>") })
		}, "not signed with the release's key"},
		"cut short": {func(t *testing.T, files string) {
			change(t, filepath.Join(files, archive), func(b []byte) []byte { return b[:len(b)/2] })
		}, archive + " was altered"},
	}
	for shell, with := range shells(t) {
		for name, tc := range tests {
			t.Run(shell+"/"+name, func(t *testing.T) {
				files, to := t.TempDir(), filepath.Join(t.TempDir(), "bin")
				if err := os.CopyFS(files, os.DirFS(filepath.Join(dir, "files"))); err != nil {
					t.Fatal(err)
				}
				tc.damage(t, files)
				server := httptest.NewServer(http.FileServer(http.Dir(files)))
				defer server.Close()
				out, err := install(t, dir, with, "--dir", to, "--from", server.URL)
				left, _ := os.ReadDir(to)
				if tc.want == "" {
					if err != nil || !strings.Contains(out, "1.4.2") || len(left) != 1 {
						t.Errorf("%v: %s, %d files", err, out, len(left))
					}
				} else if err == nil || !strings.Contains(out, tc.want) || !strings.Contains(out, "nothing was installed") || len(left) != 0 {
					t.Errorf("got %v: %s with %d files, want %q", err, out, len(left), tc.want)
				}
			})
		}
		t.Run(shell+"/disk full", func(t *testing.T) { checkInstallOnFullDisk(t, dir, with) })
	}
}

// install runs install.sh with a shell and its PATH.
func install(t *testing.T, dir string, shell [2]string, args ...string) (string, error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), shell[0], append([]string{filepath.Join(dir, "files", "install.sh")}, args...)...)
	c.Env = []string{"PATH=" + shell[1], "TMPDIR=" + t.TempDir()}
	out, err := c.CombinedOutput()
	return string(out), err
}

// checkInstallOnFullDisk updates a program where there is no room: the old one stays.
func checkInstallOnFullDisk(t *testing.T, dir string, with [2]string) {
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("a small disk needs the right to mount tmpfs, run the tests as root: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	}()
	if err := os.WriteFile(filepath.Join(small, "axle"), []byte("#!/bin/sh\necho old\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := install(t, dir, with, "--dir", small, "--from", "file://"+filepath.Join(dir, "files"))
	if err == nil || !strings.Contains(out, filepath.Join(small, "axle")+" could not be written") {
		t.Errorf("got %v: %s", err, out)
	}
	if left, _ := os.ReadDir(small); len(left) != 1 || read(t, filepath.Join(small, "axle")) != "#!/bin/sh\necho old\n" {
		t.Errorf("the folder has %v", left)
	}
}

// checkFormula wants each archive of the client in the formula, with its checksum.
func checkFormula(t *testing.T, dir string) {
	formula := read(t, filepath.Join(dir, "files", "axle.rb"))
	for _, file := range glob(t, dir, "files/axle_1.4.2_*.tar.gz") {
		name := filepath.Base(file)
		url := `url "https://github.com/axle-cd/axle/releases/download/v1.4.2/` + name + `"`
		_, after, found := strings.Cut(formula, url)
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, file))))
		if line := strings.Fields(after); !found || len(line) < 2 || line[0] != "sha256" || line[1] != `"`+sum+`"` {
			t.Errorf("the formula does not have %s with the checksum %s:\n%s", name, sum, formula)
		}
	}
	if blocks, ends := strings.Count(formula, " do\n")+strings.Count(formula, "class ")+strings.Count(formula, "def "), strings.Count(formula, "end\n"); blocks != ends {
		t.Errorf("%d blocks begin and %d end:\n%s", blocks, ends, formula)
	}
}
