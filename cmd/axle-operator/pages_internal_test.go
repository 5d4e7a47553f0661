package main

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/pages"
)

// A command of axle-operator that the documents show is one that it takes.
func TestDocumentsShowRealCommands(t *testing.T) {
	shown, err := pages.Commands("../..", "axle-operator")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range shown {
		if err := pages.Check(newRoot(), c); err != nil {
			t.Errorf("%s:%d shows axle-operator %s: %v", c.Page, c.Line, strings.Join(c.Words, " "), err)
		}
	}
	if len(shown) < 2 {
		t.Errorf("only %d commands were found", len(shown))
	}
}
