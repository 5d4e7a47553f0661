package clusters

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/filter"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// listing is one run of clusters list.
type listing struct {
	request   *hubv1.ListClustersRequest
	freshness filter.Words
	window    command.Window
	watch     bool
	// current is set by a hub that knows --freshness and follows lists. An older one
	// leaves both to the command.
	current bool
}

func listCommand(a *command.App) *cobra.Command {
	l := &listing{request: &hubv1.ListClustersRequest{}, freshness: filter.Words{Flag: "freshness", Allowed: []string{"Fresh", "Stale", "Unknown"}}}
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List clusters with the age of their last poll", Args: command.NoArgs,
		Long: `List clusters with the age of their last poll. The hub selects them, and sends pages of
500; -o json and -o name print each page as it comes. With --watch, the hub sends the
clusters that change, enter the list or leave it.`,
		Example: `  axle clusters list --tag tier=edge -o json
  axle clusters list --freshness Stale --watch
  axle clusters list --limit 100`,
		PreRunE: func(*cobra.Command, []string) error {
			return errors.Join(exitcode.Usage(l.freshness.Check()), l.window.Check(l.watch))
		},
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error { return l.run(c.Context(), a, client) }),
	}
	c.Flags().StringVar(&l.request.Project, "project", "", "only clusters of this project")
	flagvalue.Labels(c.Flags(), &l.request.Tags, "tag", "only clusters with all of these tags, KEY=VALUE")
	flagvalue.List(c.Flags(), &l.freshness.Given, "freshness", "only clusters whose agents poll, no longer do, or never did: "+l.freshness.List())
	command.Complete(c, "freshness", l.freshness.Allowed...)
	command.ManagedByFlag(c, &l.request.ManagedByTool)
	command.WindowFlags(c, &l.window)
	command.WatchFlag(c, &l.watch)
	return c
}

func (l *listing) run(ctx context.Context, a *command.App, client *sdk.Client) error {
	l.request.Freshness = l.freshness.Words()
	each := func(ctx context.Context, page func([]*hubv1.Cluster) error) error {
		return command.EachCluster(ctx, client, l.request, &l.window, func(r *hubv1.ListClustersResponse) error {
			if l.current = r.GetResumeToken() != ""; l.current {
				return page(r.GetClusters())
			}
			return page(slices.DeleteFunc(r.GetClusters(), func(c *hubv1.Cluster) bool { return !l.freshness.Keeps(cmp.Or(c.GetFreshness(), "Unknown")) }))
		})
	}
	list := output.Watched[*hubv1.Cluster]{
		Open:     command.Opens(client, &hubv1.Topics{ClusterList: l.request}, (*hubv1.WatchFleetResponse).GetClusterList),
		Followed: func() bool { return l.current },
		Name:     (*hubv1.Cluster).GetName, ID: (*hubv1.Cluster).GetId, Columns: clusterColumns(a),
	}
	return l.window.More(a, command.FollowPages(ctx, a, l.watch, list, each))
}
