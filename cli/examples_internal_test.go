package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// try reads a command line as axle would, and runs nothing.
func try(t *testing.T, words []string) error {
	t.Helper()
	a := &app{Streams: Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, getenv: os.Getenv, now: time.Now}
	c, rest, err := a.root().Find(words)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err
	}
	return c.ValidateFlagGroups()
}

// words takes a line apart as a shell would, up to where axle's part ends.
func words(line string) (all []string) {
	var word strings.Builder
	var quote rune
	in := false
	end := func() {
		if in {
			all = append(all, word.String())
		}
		word.Reset()
		in = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|>#;&", r):
			end()
			return all
		default:
			word.WriteRune(r)
			in = true
		}
	}
	end()
	return all
}

// Every command has an example, and every example is a valid command.
func TestEveryCommandHasAnExample(t *testing.T) {
	a := &app{getenv: os.Getenv, now: time.Now}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c.Name() == "help" {
			return
		}
		if !c.HasSubCommands() && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", "")) {
			_, line, ok := strings.Cut(line, "axle ")
			if !ok {
				continue
			}
			if err := try(t, words(strings.TrimSpace(line))); err != nil {
				t.Errorf("%s shows %q: %v", c.CommandPath(), strings.TrimSpace(line), err)
			}
		}
	}
	walk(a.root())
}

// A command line that the documents show is one that axle takes.
func TestDocumentsShowRealCommands(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", "")) {
			line = strings.TrimSpace(line)
			for _, prompt := range []string{"$ ", "bin/"} {
				line = strings.TrimPrefix(line, prompt)
			}
			line, ok := strings.CutPrefix(line, "axle ")
			if !ok {
				continue
			}
			n++
			if err := try(t, words(line)); err != nil {
				t.Errorf("%s shows axle %s: %v", page, line, err)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d commands were found", n)
	}
}
