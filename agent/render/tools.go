package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

const (
	// toolsFile declares the tools of a folder that need more than a program.
	toolsFile = "tools.yaml"
	// maxModuleBytes is the largest WebAssembly module.
	maxModuleBytes = 32 << 20
)

// tool is declared by the agent's administrator under a name.
type tool struct {
	// argv is the command line; its first word is an absolute path.
	argv []string
	// module is the path of a WebAssembly module.
	module string
	// generates: each run may print different values.
	generates bool
}

// tools are the tools of a folder, by name.
type tools struct {
	folder string
	byName map[string]tool
	// digest changes with the tools.
	digest string
	// declares: the folder has a tools.yaml, which then lists all tools.
	declares bool
}

// declared is the content of tools.yaml.
type declared struct {
	Tools map[string]struct {
		Command   []string `json:"command"`
		Module    string   `json:"module"`
		Generates bool     `json:"generates"`
	} `json:"tools"`
}

// readTools reads a folder of tools: those declared in its tools.yaml; without that
// file every program by its name, and every *.wasm file by its name without the
// ending. Without a folder there are no tools.
func readTools(folder string) (tools, error) {
	t := tools{folder: folder, byName: map[string]tool{}}
	if folder == "" {
		return t, nil
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return t, err
	}
	// The sandbox runs programs by their real path.
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return t, errcode.New(errcode.Invalid, "cannot read the folder of tools: %w; set --tools-dir to an existing folder", err)
	}
	t.folder = folder
	text, err := os.ReadFile(filepath.Join(folder, toolsFile))
	t.declares = err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = t.list()
	case err == nil:
		err = t.declare(text)
	}
	if err != nil {
		return t, errcode.New(errcode.Invalid, "the tools in %s: %w", folder, err)
	}
	t.digest, err = t.sum(text)
	return t, err
}

// list adds every program and every module of the folder.
func (t *tools) list() error {
	entries, err := os.ReadDir(t.folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(t.folder, entry.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || !rule.Tool.Valid(entry.Name()) {
			continue
		}
		switch name, isModule := strings.CutSuffix(entry.Name(), ".wasm"); {
		case isModule:
			t.byName[name] = tool{module: path}
		case info.Mode()&0o111 != 0:
			t.byName[name] = tool{argv: []string{path}}
		}
	}
	return nil
}

// declare adds what tools.yaml declares, and nothing else.
func (t *tools) declare(text []byte) error {
	var d declared
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		return fmt.Errorf("%s: %w", toolsFile, err)
	}
	for name, one := range d.Tools {
		made := tool{generates: one.Generates}
		file := one.Module
		if len(one.Command) > 0 {
			file = one.Command[0]
		}
		path := filepath.Join(t.folder, file)
		info, err := os.Stat(path)
		switch {
		case !rule.Tool.Valid(name):
			return fmt.Errorf("%s: %q is not a valid tool name; use letters, digits, dots and dashes", toolsFile, name)
		case (one.Module == "") == (len(one.Command) == 0):
			return fmt.Errorf("%s: the tool %q needs either command or module", toolsFile, name)
		case !filepath.IsLocal(file):
			return fmt.Errorf("%s: the tool %q names %q; its program must lie in this folder", toolsFile, name, file)
		case err != nil:
			return fmt.Errorf("%s: the tool %q: %w", toolsFile, name, err)
		case !info.Mode().IsRegular() || one.Module == "" && info.Mode()&0o111 == 0:
			return fmt.Errorf("%s: the tool %q: %s is not a program", toolsFile, name, file)
		}
		if one.Module != "" {
			made.module = path
		} else {
			made.argv = append([]string{path}, one.Command[1:]...)
		}
		t.byName[name] = made
	}
	return nil
}

// sum is a digest of the tools, so that a change renders again.
func (t *tools) sum(text []byte) (string, error) {
	sum := sha256.New()
	sum.Write(text)
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		path := t.byName[name].module
		if path == "" {
			path = t.byName[name].argv[0]
		}
		fmt.Fprintf(sum, "\n%s\n", name)
		f, err := os.Open(path)
		if err != nil {
			return "", errcode.New(errcode.Invalid, "the tool %q cannot be read: %w", name, err)
		}
		_, err = io.Copy(sum, f)
		f.Close()
		if err != nil {
			return "", errcode.New(errcode.Invalid, "the tool %q cannot be read: %w", name, err)
		}
	}
	return string(sum.Sum(nil)), nil
}

// find returns a tool of a kind, or an error that lists the existing ones.
func (t *tools) find(name string, wasm bool) (tool, error) {
	found, ok := t.byName[name]
	if ok && (found.module != "") == wasm {
		return found, nil
	}
	what, kind := "tool", "EXEC"
	if wasm {
		what, kind = "WebAssembly module", "WASM"
	}
	var have []string
	for _, known := range slices.Sorted(maps.Keys(t.byName)) {
		if (t.byName[known].module != "") == wasm {
			have = append(have, known)
		}
	}
	list := "it has none"
	if len(have) > 0 {
		list = "it has " + strings.Join(have, ", ")
	}
	hint := "its administrator puts them into the folder of --tools-dir"
	if t.declares {
		hint = "its administrator declares them in the " + toolsFile + " of the folder of --tools-dir"
	}
	return tool{}, errcode.New(errcode.Invalid,
		"the agent of this cluster has no %s %q for a renderer of type %s; %s; %s", what, name, kind, list, hint)
}

// code reads the code of a module.
func (t tool) code() ([]byte, error) {
	info, err := os.Stat(t.module)
	if err != nil {
		return nil, errcode.Hide(errcode.Unavailable, err, "a WebAssembly module of the agent's cannot be read")
	}
	if info.Size() > maxModuleBytes {
		return nil, errcode.New(errcode.Invalid, "%s has %d bytes; at most %d are allowed", t.module, info.Size(), maxModuleBytes)
	}
	code, err := os.ReadFile(t.module)
	if err != nil {
		return nil, errcode.Hide(errcode.Unavailable, err, "a WebAssembly module of the agent's cannot be read")
	}
	return code, nil
}
