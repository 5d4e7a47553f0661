// Command axle is the command line of an Axle hub.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/axle-cd/axle/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
