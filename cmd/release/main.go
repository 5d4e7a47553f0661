// Command release makes everything that a release publishes, from one commit: the
// programs, the images, the charts, the packages, and what proves where they come
// from. `make release` calls it. It is never shipped.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "release",
		Short:         "Make what a release publishes",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(makeCommand(), lockCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		stop()
		os.Exit(1)
	}
}
