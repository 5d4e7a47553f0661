package cli

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

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
	every(t, func(c *cobra.Command, _ string) {
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
	})
}

// Help has the terms of the field; pages.Spoken lists what it should put otherwise.
func TestHelpHasTheTermsOfTheField(t *testing.T) {
	every(t, func(c *cobra.Command, _ string) {
		for _, found := range pages.Spoken(c.Short + "\n\n" + c.Long) {
			t.Errorf("%s: %s", c.CommandPath(), found)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			for _, found := range pages.Spoken(f.Usage) {
				t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, found)
			}
		})
	})
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

// The jobs for CI systems are YAML, and every axle command in them is one that axle
// takes.
func TestJobsOfCIAreRealCommands(t *testing.T) {
	for file, want := range map[string]int{"github-actions.yaml": 6, "gitlab-ci.yaml": 6} {
		data, err := os.ReadFile("../examples/ci/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var job any
		if err := yaml.UnmarshalStrict(data, &job); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		found := 0
		text := regexp.MustCompile(`\\\n#?`).ReplaceAllString(string(data), "")
		for line := range strings.Lines(text) {
			_, command, ok := strings.Cut(strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "#-")), "axle ")
			if !ok || strings.Contains(line, "name: ") || strings.Contains(line, "curl") {
				continue
			}
			found++
			command, _, _ = strings.Cut(command, " || ")
			if err := pages.Check(fresh(), pages.Command{Words: pages.Words(command)}); err != nil {
				t.Errorf("%s shows axle %s: %v", file, command, err)
			}
		}
		if found != want {
			t.Errorf("%s has %d commands, want %d", file, found, want)
		}
	}
}

// Each command has a page of both forms, with what it does and all of its flags.
func TestEveryCommandHasAPage(t *testing.T) {
	for form, name := range map[string]func(path string) string{
		"man":      func(path string) string { return strings.ReplaceAll(path, " ", "-") + ".1" },
		"markdown": func(path string) string { return strings.ReplaceAll(path, " ", "_") + ".md" },
	} {
		dir := t.TempDir()
		root := fresh()
		root.SetArgs([]string{"docs", form, dir})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		every(t, func(c *cobra.Command, path string) {
			if path != "" && !c.IsAvailableCommand() {
				return
			}
			text, err := os.ReadFile(filepath.Join(dir, name(c.CommandPath())))
			page := strings.ReplaceAll(string(text), `\`, "")
			if err != nil || c.Short == "" || !strings.Contains(page, c.Short) {
				t.Errorf("axle %s: no %s page with %q (%v)", path, form, c.Short, err)
			}
			c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && f.Deprecated == "" && (!strings.Contains(page, "--"+f.Name) || f.Usage == "") {
					t.Errorf("axle %s: the %s page has no text for --%s", path, form, f.Name)
				}
			})
		})
	}
}
