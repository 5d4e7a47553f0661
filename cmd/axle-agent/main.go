// Command axle-agent is the deployment agent of one cluster. It also has commands for
// people: render a folder, judge an object's health, find out why an agent does not
// work. This package only reads flags; package agent does the work.
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
	"github.com/axle-cd/axle/internal/timerslack"
)

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	if serves() {
		timerslack.Widen()
	}
	os.Exit(run())
}

// serves reports whether the program lives as long as its cluster, and not as long as one
// question of a person.
func serves() bool { return len(os.Args) > 1 && os.Args[1] == "run" }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	tune := gctuning.Start
	if !serves() {
		tune = gctuning.Brief
	}
	wait := tune(ctx)
	defer wait()
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintln(os.Stderr, "axle-agent:", err)
	}
	if errors.Is(err, errUsage) || errcode.Is(err, errcode.Invalid) && !errors.Is(err, errFailed) {
		return exitUsage
	}
	return exitFailed
}
