package services

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

// listing is one run of services list.
type listing struct {
	request      *hubv1.ListServicesRequest
	sync, health filter.Words
	window       command.Window
	watch        bool
	// current is set by a hub that selects by state and follows lists. An older one
	// leaves both to the command.
	current bool
}

func listCommand(a *command.App) *cobra.Command {
	l := &listing{
		request: &hubv1.ListServicesRequest{Brief: true},
		sync:    filter.Words{Flag: "sync", Allowed: []string{"Synced", "Pending", "Applying", "Drifted", "Failed", "Held", "Paused", "Deleting"}},
		health:  filter.Words{Flag: "health", Allowed: []string{"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"}},
	}
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List services with their revisions, sync, health and the age of that state", Args: command.NoArgs,
		Long: `List services with their revisions, sync, health and the age of that state. The hub
selects them, and sends pages of 500; -o json and -o name print each page as it comes.

With --watch, the hub sends the services that change, enter the list or leave it; a
service that left is named on standard error. -o json prints each on one line.`,
		Example: `  axle services list --cluster edge-1 -o wide
  axle services list --health Degraded,Missing --watch
  axle services list --sync Held -q
  axle services list -o json | jq '.[] | select(.health != "Healthy")'
  axle services list --health Degraded --watch -o json | jq --unbuffered -r '.cluster + "/" + .name'
  axle services list --limit 100
  axle services list --no-headers -o jsonpath='{range [*]}{.cluster}/{.name} {.health}{"\n"}{end}'`,
		PreRunE: func(*cobra.Command, []string) error {
			return errors.Join(exitcode.Usage(errors.Join(l.sync.Check(), l.health.Check())), l.window.Check(l.watch))
		},
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error { return l.run(c.Context(), a, client) }),
	}
	c.Flags().StringVar(&l.request.Cluster, "cluster", "", "only services on this cluster")
	c.Flags().StringVar(&l.request.Project, "project", "", "only services of this project")
	c.Flags().StringVar(&l.request.Name, "name", "", "only services with this name")
	command.ManagedByFlag(c, &l.request.ManagedByTool)
	flagvalue.List(c.Flags(), &l.sync.Given, "sync", "only services in these sync states: "+l.sync.List())
	command.Complete(c, "sync", l.sync.Allowed...)
	flagvalue.List(c.Flags(), &l.health.Given, "health", "only services with this health: "+l.health.List())
	command.Complete(c, "health", l.health.Allowed...)
	command.WindowFlags(c, &l.window)
	command.WatchFlag(c, &l.watch)
	return c
}

func (l *listing) run(ctx context.Context, a *command.App, client *sdk.Client) error {
	l.request.Sync, l.request.Health = l.sync.Words(), l.health.Words()
	each := func(ctx context.Context, page func([]serviceView) error) error {
		return command.EachService(ctx, client, l.request, &l.window, func(r *hubv1.ListServicesResponse) error {
			l.current = r.GetResumeToken() != ""
			return page(l.views(a, r.GetServices()))
		})
	}
	list := output.Watched[serviceView]{
		Open: command.Opens(client, &hubv1.Topics{ServiceList: l.request}, func(m *hubv1.WatchFleetResponse) []serviceView {
			return serviceViews(a, m.GetServiceList())
		}),
		Followed: func() bool { return l.current },
		Name:     serviceName, ID: func(v serviceView) string { return v.ID }, Columns: serviceColumns(),
	}
	return l.window.More(a, command.FollowPages(ctx, a, l.watch, list, each))
}

// views are services as the list shows them. What an older hub sends is selected here.
func (l *listing) views(a *command.App, all []*hubv1.Service) []serviceView {
	views := serviceViews(a, all)
	if l.current {
		return views
	}
	return slices.DeleteFunc(views, func(v serviceView) bool {
		state := v.Sync
		if v.Deleting {
			state = "Deleting"
		}
		return !l.sync.Keeps(state) || !l.health.Keeps(cmp.Or(v.Health, "Unknown"))
	})
}
