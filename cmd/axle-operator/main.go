// Command axle-operator reads custom resources in a management cluster and writes what
// they declare to the hub. This package only reads flags; package operator does the
// work.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gctuning"
)

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	wait := gctuning.Start(ctx)
	defer wait()
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "axle-operator:", err)
	if errors.Is(err, errUsage) || errcode.Is(err, errcode.Invalid) {
		return exitUsage
	}
	return exitFailed
}
