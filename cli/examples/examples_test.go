package examples_test

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/examples"
)

// A command's own example stays; one without gets that of its path.
func TestAddKeepsExamples(t *testing.T) {
	root, noun := &cobra.Command{Use: "axle"}, &cobra.Command{Use: "groups"}
	list, get := &cobra.Command{Use: "list", Run: func(*cobra.Command, []string) {}}, &cobra.Command{Use: "get", Example: "  axle groups get own", Run: func(*cobra.Command, []string) {}}
	noun.AddCommand(list, get)
	root.AddCommand(noun)
	examples.Add(root)
	if list.Example != "  axle groups list" || get.Example != "  axle groups get own" {
		t.Errorf("%q, %q", list.Example, get.Example)
	}
}
