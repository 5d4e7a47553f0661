package up

import (
	"embed"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

//go:embed all:skeleton
var embedded embed.FS

// hubValues are the values of the control plane, in the repository.
const hubValues = "values/axle.yaml"

// skeleton is what this version of axle generates a repository from.
func skeleton() (fs.FS, error) { return fs.Sub(embedded, "skeleton") }

// render makes the files of a repository, by their names. Templates have [[ ]], because
// charts and Liquid have {{ }}. own are the user's values of the control plane, or nil.
func render(from fs.FS, a *answers, own []byte) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var out strings.Builder
		if err := t.Execute(&out, a); err != nil {
			return err
		}
		if strings.TrimSpace(out.String()) != "" { // else it is not for these answers
			files[name] = []byte(out.String())
		}
		return nil
	})
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the skeleton in this program cannot be rendered: %w", err)
	}
	made, err := a.clusterTemplate()
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the template of clusters in this program: %w", err)
	}
	for name, text := range made {
		files["clusters/"+a.Workload+"/"+name] = text
	}
	if own != nil {
		files[hubValues] = own
	}
	files[answersFile], err = a.text()
	return files, err
}

// names are in the order in which files are written: the answers first, by which an
// interrupted run knows its folder.
func names(files map[string][]byte) []string {
	return append([]string{answersFile}, slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return name == answersFile })...)
}

// foreign are the files of a folder beside Git's own and those that an interrupted
// write left, at most three of them.
func foreign(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir() || atomicfile.Unfinished(entry.Name()):
			return nil
		case len(found) == 3:
			return fs.SkipAll
		}
		name, err := filepath.Rel(dir, path)
		found = append(found, filepath.ToSlash(name))
		return err
	})
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "read the folder %s: %w", dir, err)
	}
	return found, nil
}
