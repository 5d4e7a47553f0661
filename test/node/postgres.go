package node

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// PushPostgres puts a stand-in for the official image of Postgres into the registry, under
// the official name: this machine's Postgres with the libraries that it links, and a
// program that reads the same variables. It runs as user 70, as the official one.
func (n *Node) PushPostgres(ctx context.Context, name string) error {
	servers, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(servers) == 0 {
		return errors.Join(errors.New("this machine has no Postgres in /usr/lib/postgresql: run `make deps`"), err)
	}
	slices.Sort(servers)
	home := filepath.Dir(filepath.Dir(servers[len(servers)-1])) // /usr/lib/postgresql/15
	entry, err := n.build(ctx, "postgres")
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := add(w, "entry", 0o755, entry); err != nil {
		return err
	}
	if err := add(w, "etc/passwd", 0o644, []byte("root:x:0:0:root:/:/none\npostgres:x:70:70:postgres:/:/none\n")); err != nil {
		return err
	}
	// initdb starts its helpers by a shell.
	files := map[string]string{"/bin/sh": "/bin/sh"}
	for _, folder := range []string{home, filepath.Join("/usr/share/postgresql", filepath.Base(home)), "/usr/share/zoneinfo", "/usr/lib/locale/C.utf8"} {
		if err := below(folder, files); err != nil {
			return err
		}
	}
	if err := libraries(ctx, files, "/bin/sh", filepath.Join(home, "bin", "postgres"), filepath.Join(home, "bin", "initdb"), filepath.Join(home, "bin", "pg_isready")); err != nil {
		return err
	}
	for name, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := add(w, strings.TrimPrefix(name, "/"), 0o755, content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return n.push(ctx, name, layer.Bytes(), ocispec.ImageConfig{
		Entrypoint: []string{"/entry"}, User: "70:70", Env: []string{"PATH=" + filepath.Join(home, "bin") + ":/bin"},
	})
}

// below adds the files of a folder, without the compiler of queries, which is large.
func below(folder string, files map[string]string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if strings.Contains(path, "llvmjit") || strings.Contains(path, "/bitcode/") {
			return nil
		}
		info, err := os.Stat(path) // of the file behind a link
		if err == nil && info.Mode().IsRegular() {
			files[path] = path
		}
		return nil
	})
}

var linked = regexp.MustCompile(`(/\S+) \(0x`)

// libraries adds what programs link.
func libraries(ctx context.Context, files map[string]string, programs ...string) error {
	out, err := exec.CommandContext(ctx, "ldd", programs...).Output()
	if err != nil {
		return fmt.Errorf("ask what %v link: %w", programs, err)
	}
	for _, found := range linked.FindAllStringSubmatch(string(out), -1) {
		files[found[1]] = found[1]
	}
	return nil
}
