package export

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// file is one manifest, under a path in the folder.
type file struct {
	path string
	data []byte
}

// pathOf is where the manifest of an object stands, by its name in the hub. Two objects
// never share one.
func pathOf(s source, name string) string {
	if s.kind == "Cluster" {
		return filepath.Join(s.folder, fileName(name), "cluster.yaml")
	}
	if cluster, name, ok := strings.Cut(name, "/"); ok && s.kind == "ServiceDeployment" {
		return filepath.Join(s.folder, fileName(cluster), "services", fileName(name)+".yaml")
	}
	return filepath.Join(s.folder, fileName(name)+".yaml")
}

// fileName is a name as the name of a file: what no name of a file may have, or begins
// a hidden one, is written as %XX.
func fileName(name string) string {
	var out strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			out.WriteByte(c)
		default:
			const digits = "0123456789ABCDEF"
			out.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return out.String()
}

// write writes all files into a folder. Without force it writes none if one of them
// exists; a file that is there with the same content does not count. A new folder appears
// whole. In a folder that exists, each file is replaced as a whole.
func write(dir string, files []file, force bool) (written int, err error) {
	fail := func(err error) (int, error) { return 0, errcode.New(errcode.Invalid, "%w", err) }
	_, err = os.Stat(dir)
	fresh := os.IsNotExist(err)
	if err != nil && !fresh {
		return fail(err)
	}
	var changed []file
	for _, f := range files {
		have, err := os.ReadFile(filepath.Join(dir, f.path))
		switch {
		case err == nil && string(have) == string(f.data):
			continue
		case err == nil && !force:
			return 0, errcode.New(errcode.Conflict, "%s exists with other content; nothing was written. Use --force to replace files, or another folder", filepath.Join(dir, f.path))
		case err != nil && !os.IsNotExist(err):
			return fail(err)
		}
		changed = append(changed, f)
	}
	into := dir
	if fresh {
		if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o755); err != nil {
			return fail(err)
		}
		if into, err = os.MkdirTemp(filepath.Dir(filepath.Clean(dir)), ".axle-export-"); err != nil {
			return fail(err)
		}
		defer os.RemoveAll(into)
		if err := os.Chmod(into, 0o755); err != nil {
			return fail(err)
		}
	}
	for _, f := range changed {
		path := filepath.Join(into, f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fail(err)
		}
		if err := atomicfile.WriteUnsynced(path, f.data, 0o644); err != nil {
			return fail(err)
		}
	}
	if fresh {
		if err := os.Rename(into, dir); err != nil {
			return fail(err)
		}
	}
	return len(changed), nil
}
