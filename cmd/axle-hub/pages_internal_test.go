package main

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/test/pages"
)

// What ships has both folders, also where one of them was not built.
func TestProgramEmbedsThePages(t *testing.T) {
	var c hub.Config
	embed(&c)
	if !bytes.Contains(c.Tokens, []byte("--bg:")) {
		t.Error("the style sheet of the login is not in the program")
	}
	for name, files := range map[string]fs.FS{"the console": c.Console, "the documentation": c.Docs} {
		if files == nil {
			t.Errorf("%s is not in the program", name)
			continue
		}
		if _, err := fs.Stat(files, ".keep"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A command of axle-hub that the documents show is one that it takes.
func TestDocumentsShowRealCommands(t *testing.T) {
	shown, err := pages.Commands("../..", "axle-hub")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range shown {
		if err := pages.Check(newRoot(), c); err != nil {
			t.Errorf("%s:%d shows axle-hub %s: %v", c.Page, c.Line, strings.Join(c.Words, " "), err)
		}
	}
	if len(shown) < 15 {
		t.Errorf("only %d commands were found", len(shown))
	}
}
