// Command dev is for developers of Axle: the whole world on one machine, seeded hubs
// and the benchmarks. `make help` lists the targets that use it. It is never shipped.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cmd/dev/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "dev",
		Short:         "Commands for developers of Axle",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(demoCommand(), nodeCommand(), seedCommand(), consoleCommand(), conformanceCommand(), attackCommand())
	root.AddCommand(bench.Commands()...)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		stop()
		os.Exit(1)
	}
}
