package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/axle-cd/axle/cli/clusters"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/completion"
)

// completeWithin bounds how long a key pressed at the prompt waits for the hub.
const completeWithin = 5 * time.Second

// second are the words for the second argument of the commands that name something there.
var second = map[string]completion.Words{
	"clusters pools scale": func(ctx context.Context, r completion.Request) ([]string, error) {
		return clusters.PoolNames(ctx, r.Client, r.Args[0])
	},
	"clusters machines replace": func(ctx context.Context, r completion.Request) ([]string, error) {
		return clusters.MachineNames(ctx, r.Client, r.Args[0])
	},
	"clusters orphans keep":   orphans,
	"clusters orphans remove": orphans,
}

func orphans(ctx context.Context, r completion.Request) ([]string, error) {
	return clusters.OrphanIDs(ctx, r.Client, r.Args[0])
}

// completes asks the hub for the words that fit in one position: an argument,
// or the value of a flag. On an error it offers nothing.
func completes(a *command.App, argument bool, words completion.Words) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		words := words
		if argument && len(args) > 0 && !takesSeveral(c) {
			if words = second[path(c)]; words == nil || len(args) > 1 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
		}
		client, err := a.Client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completeWithin)
		defer cancel()
		all, err := words(ctx, completion.Request{Client: client, Args: args, Word: word, Flag: func(name string) string {
			if f := c.Flag(name); f != nil {
				return f.Value.String()
			}
			return ""
		}})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if argument && takesSeveral(c) {
			all = slices.DeleteFunc(all, func(word string) bool {
				name, _, _ := strings.Cut(word, "\t") // what it is follows the tab
				return slices.Contains(args, name)
			})
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// path is the name of a command without "axle".
func path(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "axle ") }

// takesSeveral reports whether the first argument of a command may be repeated:
// "get NAME…".
func takesSeveral(c *cobra.Command) bool {
	words := strings.Fields(c.Use)
	return len(words) > 1 && strings.HasSuffix(strings.Trim(words[1], "[]"), "…")
}

// completing reports whether a shell asks for words. Cobra keeps each registered completion, and
// the command that it is of, until the program ends: who runs many commands in one process,
// as tests do, would keep them all.
func completing(args []string) bool {
	return slices.Contains(args, cobra.ShellCompRequestCmd) || slices.Contains(args, cobra.ShellCompNoDescRequestCmd)
}

// completeNames registers the completion of names wherever they appear, in
// flags and in arguments. Completions that a command registered itself are
// kept.
func completeNames(a *command.App, c *cobra.Command) {
	for _, sub := range c.Commands() {
		completeNames(a, sub)
	}
	path := path(c)
	flag := func(f *pflag.Flag) {
		if words := completion.Flag(path, f.Name); words != nil {
			// It fails if the command has registered one itself.
			_ = c.RegisterFlagCompletionFunc(f.Name, completes(a, false, words))
		}
	}
	c.Flags().VisitAll(flag)
	c.PersistentFlags().VisitAll(flag)
	if words := completion.Argument(path); words != nil && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = completes(a, true, words)
	}
}
