// Command axle-hub is the management plane: it follows repositories, decides what
// every cluster should run, and answers agents and people. This package only reads
// flags; package hub does the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gctuning"
	"github.com/axle-cd/axle/internal/timerslack"
)

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// The guard of a git fetch starts once per fetch and must start fast.
	if len(os.Args) > 1 && os.Args[1] == hub.GitGuardCommand {
		os.Exit(hub.GitGuard(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		timerslack.Widen()
	}
	os.Exit(execute())
}

func execute() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	wait := gctuning.Start(ctx)
	defer wait()
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "axle-hub:", err)
	if errors.Is(err, errUsage) || errcode.Is(err, errcode.Invalid) {
		return exitUsage
	}
	return exitFailed
}
