package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/archtest"
	"github.com/axle-cd/axle/internal/soak"
)

const (
	module = "github.com/axle-cd/axle/"
	lists  = "internal/archtest/race.txt"
	// record names the last commit whose race run passed.
	record = "test/race-passed.txt"
)

// decisive are files that make every package another one.
var decisive = []string{"go.mod", "go.sum", lists}

// checkout is the module as it is now.
type checkout struct {
	root  string
	tiers *archtest.Tiers
	// folders are those of all packages, the longest tests first: nothing waits for them
	// alone at the end.
	folders []string
	// heavy are the heavy packages that run under the race detector this time, and why.
	heavy []string
	why   string
}

func load(ctx context.Context, root string) (*checkout, error) {
	text, err := os.ReadFile(filepath.Join(root, lists))
	if err != nil {
		return nil, err
	}
	c := &checkout{root: root}
	if c.tiers, err = archtest.ParseTiers(string(text)); err != nil {
		return nil, err
	}
	out, err := c.run(ctx, "go", "list", "./...")
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(out) {
		c.folders = append(c.folders, strings.TrimPrefix(name, module))
	}
	slices.SortStableFunc(c.folders, func(a, b string) int { return longest(a) - longest(b) })
	return c, nil
}

// longest returns the place of a package among those whose tests take longest, and for all
// others the next one.
func longest(folder string) int {
	first := []string{"test/world", "test/e2e", "test/kube"}
	if i := slices.Index(first, folder); i >= 0 {
		return i
	}
	return len(first)
}

func (c *checkout) raced() []string { return slices.Concat(c.heavy, c.tiers.Light) }

func (c *checkout) plain() []string {
	raced := c.raced()
	return slices.DeleteFunc(slices.Clone(c.folders), func(f string) bool { return slices.Contains(raced, f) })
}

func (c *checkout) all() []string {
	return slices.DeleteFunc(slices.Clone(c.folders), c.tiers.Plain)
}

// starters are what tests start programs of the product, API servers, databases, browsers
// and Git servers with.
var starters = []string{"test/bin", "test/program", "test/pg", "test/browser", "test/gitserver"}

// quick returns the packages whose tests link no starter.
func (c *checkout) quick(ctx context.Context) ([]string, error) {
	links, err := archtest.TestsLink(ctx, c.root, c.folders)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(c.folders), func(f string) bool {
		linked, tested := links[f]
		return !tested || slices.ContainsFunc(starters, func(s string) bool { return slices.Contains(linked, s) })
	}), nil
}

// choose finds the heavy packages that differ from the recorded commit. When that commit
// is not known, all do.
func (c *checkout) choose(ctx context.Context) error {
	c.heavy = c.tiers.Heavy
	text, err := os.ReadFile(filepath.Join(c.root, record))
	commit := strings.TrimSpace(string(text))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !soak.WholeID(commit) {
		c.why = "all heavy packages run under the race detector: " + record + " names no commit"
		return nil
	}
	if _, err := c.run(ctx, "git", "merge-base", "--is-ancestor", commit, "HEAD"); err != nil {
		c.why = fmt.Sprintf("all heavy packages run under the race detector: %s in %s is no ancestor of this commit, or this clone does not have it", commit, record)
		return nil
	}
	files, err := c.changed(ctx, commit)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(files, func(f string) bool { return slices.Contains(decisive, f) }) {
		c.why = fmt.Sprintf("all heavy packages run under the race detector: one of %s changed since %s", strings.Join(decisive, ", "), commit)
		return nil
	}
	links, err := archtest.TestsLink(ctx, c.root, c.tiers.Heavy)
	if err != nil {
		return err
	}
	code, tests := c.owners(files)
	c.heavy = slices.DeleteFunc(slices.Clone(c.tiers.Heavy), func(f string) bool {
		return !tests[f] && !slices.ContainsFunc(links[f], func(linked string) bool { return code[linked] })
	})
	c.why = fmt.Sprintf("%d of %d heavy packages run under the race detector: they differ from %s", len(c.heavy), len(c.tiers.Heavy), commit)
	return nil
}

// changed returns the files that differ from a commit, those outside of the index
// included.
func (c *checkout) changed(ctx context.Context, commit string) ([]string, error) {
	known, err := c.run(ctx, "git", "diff", "--name-only", "--no-renames", "-z", commit)
	if err != nil {
		return nil, err
	}
	others, err := c.run(ctx, "git", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(known+others, func(r rune) bool { return r == 0 }), nil
}

// owners returns the packages that files belong to, those of the nearest folder: code and
// data, which importers link, and tests, which nobody else does. What is in no package's
// folder, such as docs, is nothing that tests race with.
func (c *checkout) owners(files []string) (code, tests map[string]bool) {
	code, tests = map[string]bool{}, map[string]bool{}
	for _, file := range files {
		owners := code
		if strings.HasSuffix(file, "_test.go") {
			owners = tests
		}
		for folder := path.Dir(file); folder != "."; folder = path.Dir(folder) {
			if slices.Contains(c.folders, folder) {
				owners[folder] = true
				break
			}
		}
	}
	return code, tests
}

func (c *checkout) run(ctx context.Context, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = c.root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}
