package cli

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

// names asks the hub for the names of one kind of object.
type names = func(ctx context.Context, client *sdk.Client, args []string) ([]string, error)

func clusterNames(ctx context.Context, client *sdk.Client, _ []string) (all []string, err error) {
	list, err := client.Clusters.List(ctx, connect.NewRequest(&hubv1.ListClustersRequest{}))
	if err != nil {
		return nil, err
	}
	for _, c := range list.Msg.GetClusters() {
		all = append(all, c.GetName())
	}
	return all, nil
}

func projectNames(ctx context.Context, client *sdk.Client, _ []string) (all []string, err error) {
	list, err := client.Projects.List(ctx, connect.NewRequest(&hubv1.ListProjectsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, p := range list.Msg.GetProjects() {
		all = append(all, p.GetName())
	}
	return all, nil
}

func groupNames(ctx context.Context, client *sdk.Client, _ []string) (all []string, err error) {
	list, err := client.Groups.List(ctx, connect.NewRequest(&hubv1.ListGroupsRequest{}))
	if err != nil {
		return nil, err
	}
	for _, g := range list.Msg.GetGroups() {
		all = append(all, g.GetName())
	}
	return all, nil
}

// userNames returns the names of people, accountNames those of programs.
func userNames(ctx context.Context, client *sdk.Client, _ []string) ([]string, error) {
	return known(ctx, client, false)
}

func accountNames(ctx context.Context, client *sdk.Client, _ []string) ([]string, error) {
	return known(ctx, client, true)
}

func known(ctx context.Context, client *sdk.Client, programs bool) (all []string, err error) {
	list, err := client.Users.List(ctx, connect.NewRequest(&hubv1.ListUsersRequest{}))
	if err != nil {
		return nil, err
	}
	for _, u := range list.Msg.GetUsers() {
		if (u.GetKind() == "user") != programs {
			all = append(all, u.GetName())
		}
	}
	return all, nil
}

// completeNames registers the completion of names wherever they appear: in
// flags that have the same name in all commands, and as the first argument of a
// noun's verbs. Completions that a command registered itself are kept.
func (a *app) completeNames(c *cobra.Command) {
	for _, sub := range c.Commands() {
		a.completeNames(sub)
	}
	path, _ := strings.CutPrefix(c.CommandPath(), "axle ")
	flags := map[string]names{"cluster": clusterNames, "clusters": clusterNames, "project": projectNames}
	if strings.HasPrefix(path, "auth ") || strings.HasPrefix(path, "sessions ") {
		// In other commands these flags have another meaning.
		flags["group"], flags["user"], flags["as"], flags["service-account"] = groupNames, userNames, userNames, accountNames
	}
	for flag, words := range flags {
		if c.Flags().Lookup(flag) != nil {
			completeFlag(c, flag, a.completes(true, words))
		}
	}
	words := map[string]names{
		"groups get": groupNames, "groups delete": groupNames, "groups add-member": groupNames, "groups remove-member": groupNames,
		"users delete": userNames, "users admin": userNames, "providers unlink": userNames,
		"serviceaccounts delete": accountNames, "serviceaccounts token": accountNames,
	}[path]
	if words != nil && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = a.completes(false, words)
	}
}
