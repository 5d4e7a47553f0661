package cli

import (
	"context"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// completion is the function that cobra calls for completions.
type completion = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// completes asks the hub for the words that fit in one position: the first
// argument, or the value of a flag. On an error it offers nothing.
func (a *app) completes(flag bool, words func(ctx context.Context, client *sdk.Client, args []string) ([]string, error)) completion {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !flag {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		client, err := a.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		all, err := words(c.Context(), client, args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) completeProjects() completion {
	return a.completes(false, func(ctx context.Context, client *sdk.Client, _ []string) (names []string, err error) {
		all, err := client.Projects.List(ctx, connect.NewRequest(&hubv1.ListProjectsRequest{}))
		if err != nil {
			return nil, err
		}
		for _, p := range all.Msg.GetProjects() {
			names = append(names, p.GetName())
		}
		return names, nil
	})
}

func (a *app) completeContexts() completion {
	return a.completes(false, func(ctx context.Context, client *sdk.Client, _ []string) (names []string, err error) {
		all, err := client.Contexts.List(ctx, connect.NewRequest(&hubv1.ListContextsRequest{}))
		if err != nil {
			return nil, err
		}
		for _, one := range all.Msg.GetContexts() {
			names = append(names, one.GetName())
		}
		return names, nil
	})
}

func (a *app) completeBackends() completion {
	return a.completes(true, func(ctx context.Context, client *sdk.Client, _ []string) (names []string, err error) {
		all, err := client.Backends.List(ctx, connect.NewRequest(&hubv1.ListBackendsRequest{}))
		if err != nil {
			return nil, err
		}
		for _, one := range all.Msg.GetBackends() {
			names = append(names, one.GetName())
		}
		return names, nil
	})
}

// completeKeys offers the keys of the service in the first argument.
func (a *app) completeKeys(cluster *string) completion {
	return a.completes(true, func(ctx context.Context, client *sdk.Client, args []string) (keys []string, err error) {
		if len(args) == 0 {
			return nil, nil
		}
		ref, err := serviceRef(args[0], *cluster)
		if err != nil {
			return nil, err
		}
		config, err := client.Services.Config(ctx, connect.NewRequest(&hubv1.GetServiceConfigRequest{Ref: ref}))
		if err != nil {
			return nil, err
		}
		for _, v := range config.Msg.GetValues() {
			keys = append(keys, v.GetKey())
		}
		return keys, nil
	})
}

// completeFlag registers the completion of a flag's values.
func completeFlag(c *cobra.Command, flag string, words completion) *cobra.Command {
	// It fails if the command has no such flag; then there is nothing to
	// complete.
	_ = c.RegisterFlagCompletionFunc(flag, words)
	return c
}
