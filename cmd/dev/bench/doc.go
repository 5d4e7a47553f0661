// Package bench holds the commands of cmd/dev that measure, and the records and
// the page that they write: test/benchmarks and docs/benchmarks.md. What is
// measured lives elsewhere: in Go benchmarks, in packages below test/scale and in
// test/agentmem.
//
// Invariant: a record names the commit that was measured, so nothing is recorded
// of a tree with changes that are not committed, records themselves left out.
package bench

import "github.com/spf13/cobra"

// Commands returns all of them.
func Commands() []*cobra.Command {
	return []*cobra.Command{command(), fleetCommand(), applyCommand(), proxyCommand(), pushCommand(), operatorCommand(), uiCommand(), fanoutCommand(), terraformCommand(), templatesCommand(), fleetPlayerCommand(), picturesCommand()}
}
