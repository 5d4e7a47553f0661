package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	nodestages "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podstages "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// printStages prints the configuration with which kwok plays nodes and pods as
// fast as it can, for its --config. Without one it refuses to start.
func printStages() int {
	fmt.Println(strings.Join([]string{
		nodestages.DefaultNodeInit, podstages.DefaultPodReady, podstages.DefaultPodComplete, podstages.DefaultPodDelete,
	}, "\n---\n"))
	return 0
}

// runKwok wires kwok as its own main does: the configuration is read from the
// flags before the command exists.
func runKwok() int {
	if len(os.Args) == 2 && os.Args[1] == "stages" {
		return printStages()
	}
	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}

	ctx, logger := log.InitFlags(signals.SetupSignalContext(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprint(os.Stderr, flags.FlagUsages())
		logger.Error("read kwok's configuration", "err", err)
		return 1
	}
	command := cmd.NewCommand(ctx)
	// Kubernetes' own --version flag, which is not a bool, is linked in beside;
	// cobra asks for a bool wherever a command has a version.
	command.Version = ""
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("run kwok", "err", err)
		return 1
	}
	return 0
}
