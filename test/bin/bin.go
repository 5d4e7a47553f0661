// Package bin has the programs of this repository for tests that start them as
// processes; cmd/dev gets them through the world. It does not run anything.
//
// Programs are in bin/test/<variant> of the checkout, compiled as what ships is, but for the
// pages of the hub (Options.Pages). A file is
// replaced only as a whole, by rename, so that a running program keeps its version. One
// process builds at a time (a lock file).
//
// Go's test cache knows of a program what Path opens: a name, a size and a time. So the
// time of a program is made of its content: a result holds for the program that gave it,
// whenever that was built, and no file is too young to be cached.
//
// `make test` builds all of List first and sets AXLE_PROGRAMS=built. Path then opens the
// program, and fails for one that is not in List. In any other process Path asks go build,
// which takes 0.3 s of processor time for a program whose sources did not change, and the
// result of the test is not cached: Go would not know the sources, and would record a
// result of theirs under what they are when the test ends.
package bin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// variable is set to "built" by who has built all programs.
const variable = "AXLE_PROGRAMS"

// Pages are the console and the documentation in axle-hub. A hub without them stays the same
// when a style or a page changes, and so do the results of the tests that start it.
type Pages string

const (
	// Shipped has them, as what ships.
	Shipped Pages = "pages"
	// AnyStyle has them as well, for tests of what people do in the console: a result holds for
	// other styles too, but for those of ownStyles (ADR 198).
	AnyStyle Pages = "anystyle"
)

// Options choose among the builds of one program. The zero value is the plain
// one.
type Options struct {
	// Tags are build tags, such as testbed.
	Tags []string
	// Pages are those in axle-hub.
	Pages Pages
	// Version is the version that the program reports; empty keeps its default.
	Version string
	// Target is GOOS/GOARCH, such as wasip1/wasm; empty is this machine.
	Target string
	// Module is the folder of the module that has the package, the root's if empty.
	Module string
	// Package is the program's path, whose last part is its name; ./cmd/<name> if
	// empty. Programs of one variant are in one folder, where an agent looks for its
	// render children.
	Package string
}

// asked holds what this process has asked for. Its lock is held over a build, so that a
// second caller finds the first one's.
var asked = struct {
	sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

// Path returns the file of the program of that name, which is built if that is this
// process's part. An error quotes the compiler.
func Path(ctx context.Context, name string, o Options) (string, error) {
	asked.Lock()
	defer asked.Unlock()
	root, err := Root()
	if err != nil {
		return "", err
	}
	program := Program{Name: name, Options: o}
	file := filepath.Join(root, folder, o.variant(), name)
	if asked.paths[file] {
		return file, nil
	}
	if os.Getenv(variable) == "built" {
		err = open(file)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: make programs does not build it: add it to List in test/bin/list.go", err)
		}
	} else {
		err = buildNow(ctx, root, program)
	}
	if err != nil {
		return "", fmt.Errorf("program %s: %w", name, err)
	}
	asked.paths[file] = true
	return file, nil
}

// buildNow builds a program for this process alone, whose test result shall not be cached.
func buildNow(ctx context.Context, root string, p Program) error {
	fresh, err := build(ctx, root, p.Options, []string{p.source()})
	if err != nil {
		return err
	}
	for _, file := range fresh {
		fmt.Fprintf(os.Stderr, "test/bin: built %s, which was missing or older than its sources\n", file)
	}
	return writeNeverCached(filepath.Join(root, folder, neverCached))
}

// open makes a file an input of this test.
func open(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	return f.Close()
}

// Inputs opens all files and folders below a folder of the checkout, which only programs read that a
// test starts: without it a cached result of the test would stand when they change.
func Inputs(dir string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(root, dir), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && (entry.IsDir() || entry.Type().IsRegular()) {
			err = open(file) // a folder for the names in it
		}
		return err
	})
}

// variant names the folder of a build.
func (o Options) variant() string {
	var parts []string
	for _, part := range append([]string{o.Module, o.Target, o.Version, string(o.Pages)}, o.Tags...) {
		if part != "" {
			parts = append(parts, strings.ReplaceAll(part, "/", "-"))
		}
	}
	if len(parts) == 0 {
		return "plain"
	}
	return strings.Join(parts, "_")
}

// source is the package of a program.
func (p Program) source() string {
	if p.Package == "" {
		return "./cmd/" + p.Name
	}
	return p.Package
}

// Root is the folder of the checkout: it walks up from the working folder, which is the package's in a
// test, to the module's go.mod.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/axle-cd/axle\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside a checkout of axle: start from there", start)
		}
	}
}

// Build builds all of List, as make programs does, and returns the files that changed.
func Build(ctx context.Context) ([]string, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	sources := map[string][]string{}
	for _, p := range List {
		sources[p.variant()] = append(sources[p.variant()], p.source())
	}
	var fresh []string
	for _, p := range List {
		variant := p.variant()
		if sources[variant] == nil {
			continue // built with the first of its variant
		}
		var files []string
		if p.Pages == AnyStyle {
			files, err = anyStyle(ctx, root, p)
		} else {
			files, err = build(ctx, root, p.Options, sources[variant])
		}
		if err != nil {
			return nil, fmt.Errorf("programs in %s: %w", path.Join(folder, variant), err)
		}
		sources[variant], fresh = nil, append(fresh, files...)
	}
	return fresh, nil
}

// never is a time at which no test ends: Go does not cache a test that opened a file which
// is younger than 2 s.
var never = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
