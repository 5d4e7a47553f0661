package cli

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/test/pages"
)

// fresh is axle as one invocation has it.
func fresh() *cobra.Command {
	a := &command.App{Streams: command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, Getenv: os.Getenv, Now: time.Now}
	return newRoot(a)
}

// Every command has an example, and every example is a valid command.
func TestEveryCommandHasAnExample(t *testing.T) {
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
			if err := pages.Check(fresh(), pages.Command{Words: pages.Words(line)}); err != nil {
				t.Errorf("%s shows %q: %v", c.CommandPath(), strings.TrimSpace(line), err)
			}
		}
	}
	walk(fresh())
}

// A command that the documents show is one that axle takes, and one that a
// sentence names exists with its flags.
func TestDocumentsShowRealCommands(t *testing.T) {
	shown, err := pages.Commands("..", "axle")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range shown {
		if err := pages.Check(fresh(), c); err != nil {
			t.Errorf("%s:%d shows axle %s: %v", c.Page, c.Line, strings.Join(c.Words, " "), err)
		}
	}
	if len(shown) < 250 {
		t.Errorf("only %d commands were found", len(shown))
	}
}
