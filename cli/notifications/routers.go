package notifications

import (
	"cmp"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

type filterView struct {
	Regex    string `json:"regex,omitempty"`
	Service  string `json:"service,omitempty"`
	Cluster  string `json:"cluster,omitempty"`
	Pipeline string `json:"pipeline,omitempty"`
}

// String is what --filter takes.
func (f filterView) String() string {
	var parts []string
	for _, part := range [][2]string{{"service", f.Service}, {"cluster", f.Cluster}, {"pipeline", f.Pipeline}, {"regex", f.Regex}} {
		if part[1] != "" {
			parts = append(parts, part[0]+"="+part[1])
		}
	}
	return strings.Join(parts, ",")
}

// routerView is a router as -o json and -o yaml show it.
type routerView struct {
	Name    string       `json:"name"`
	Project string       `json:"project"`
	Events  []string     `json:"events"`
	Filters []filterView `json:"filters"`
	Sinks   []string     `json:"sinks"`
	// SilentEvents are those that nothing in the hub makes yet.
	SilentEvents []string            `json:"silentEvents"`
	ManagedBy    command.ManagerView `json:"managedBy"`
	DeclaredBy   string              `json:"declaredBy"`
	UpdatedAt    string              `json:"updatedAt"`
	UpdatedAge   string              `json:"updatedAge"`
	ID           string              `json:"id"`
}

func newRouterView(a *command.App, r *hubv1.NotificationRouter) routerView {
	in := r.GetSettings()
	v := routerView{
		Name: r.GetName(), Project: in.GetProject(), Events: append([]string{}, in.GetEvents()...), Filters: []filterView{}, Sinks: append([]string{}, in.GetSinks()...),
		SilentEvents: append([]string{}, r.GetSilentEvents()...), ManagedBy: command.NewManagerView(r.GetManagedBy()), DeclaredBy: r.GetDeclaredBy(),
		UpdatedAt: fields.Stamp(r.GetUpdatedAt()), UpdatedAge: a.Age(r.GetUpdatedAt()), ID: r.GetId(),
	}
	for _, f := range in.GetFilters() {
		v.Filters = append(v.Filters, filterView{f.GetRegex(), f.GetService(), f.GetCluster(), f.GetPipeline()})
	}
	return v
}

func (v routerView) filters(between string) string {
	var all []string
	for _, f := range v.Filters {
		all = append(all, f.String())
	}
	return strings.Join(all, between)
}

// silent says which events do not happen.
func (v routerView) silent() string {
	if len(v.SilentEvents) == 0 {
		return ""
	}
	return strings.Join(v.SilentEvents, ", ") + " (nothing makes them yet)"
}

func printRouters(a *command.App, all []*hubv1.NotificationRouter) error {
	views := []routerView{}
	for _, r := range all {
		views = append(views, newRouterView(a, r))
	}
	return command.PrintList(a, views, func(v routerView) string { return v.Name },
		command.Col("NAME", func(v routerView) string { return v.Name }),
		command.Col("PROJECT", func(v routerView) string { return cmp.Or(v.Project, "(hub)") }),
		command.Col("EVENTS", func(v routerView) string { return strings.Join(v.Events, ", ") }),
		command.Col("FILTERS", func(v routerView) string { return v.filters(" or ") }),
		command.Col("SINKS", func(v routerView) string { return strings.Join(v.Sinks, ", ") }),
		command.Wide("SILENT", routerView.silent),
		command.Wide("MANAGED BY", func(v routerView) string { return v.ManagedBy.String() }),
	)
}

func printRouter(a *command.App, r *hubv1.NotificationRouter) error {
	return command.PrintOne(a, newRouterView(a, r), func(v routerView) string { return v.Name },
		command.Col("Name", func(v routerView) string { return v.Name }),
		command.Col("Project", func(v routerView) string { return cmp.Or(v.Project, "(hub)") }),
		command.Col("Events", func(v routerView) string { return strings.Join(v.Events, ", ") }),
		command.Col("Silent", routerView.silent),
		command.Col("Filters", func(v routerView) string { return v.filters("\n") }),
		command.Col("Sinks", func(v routerView) string { return strings.Join(v.Sinks, ", ") }),
		command.Col("Managed by", func(v routerView) string { return v.ManagedBy.String() }),
		command.Col("Updated", func(v routerView) string { return fmt.Sprintf("by %s %s", v.DeclaredBy, command.Ago(v.UpdatedAge)) }),
	)
}

func routers(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "NotificationRouter", "List routers", "  axle notifications routers list -o wide", printRouters)
	get := command.Gets(a, "NotificationRouter", "Show routers", "  axle notifications routers get failures", printRouter, printRouters)
	remove := command.Deletes(a, "NotificationRouter", "notification router", "deleted", "Delete routers; what they made already is still sent", "  axle notifications routers delete failures")
	return command.Noun("routers", "Manage which events go to which sinks", []string{"router"}, list, get, routerCreate(a), routerUpdate(a), remove)
}

// routerFlags are the flags that create and update share.
type routerFlags struct {
	request  hubv1.ApplyNotificationRouterRequest
	settings hubv1.NotificationRouterSettings
	filters  []string
}

func (r *routerFlags) flags(c *cobra.Command) {
	f := c.Flags()
	flagvalue.List(f, &r.settings.Events, "event", "event to send, such as service.failed, or * for all; may be repeated; axle notifications events lists them")
	f.StringArrayVar(&r.filters, "filter", nil, "only events that match: service=NAME, cluster=HANDLE, regex=EXPRESSION, or several with commas, regex last; may be repeated, then one must match")
	flagvalue.List(f, &r.settings.Sinks, "sink", "sink that gets the events; may be repeated")
	f.BoolVar(&r.request.DryRun, "dry-run", false, "check everything, store nothing")
}

func parseFilter(text string) (*hubv1.NotificationFilter, error) {
	f := &hubv1.NotificationFilter{}
	for rest := text; rest != ""; {
		key, value, ok := strings.Cut(rest, "=")
		if rest = ""; ok && key != "regex" {
			value, rest, _ = strings.Cut(value, ",")
		}
		into := map[string]*string{"service": &f.Service, "cluster": &f.Cluster, "regex": &f.Regex}[key]
		if into == nil || value == "" || *into != "" {
			return nil, exitcode.Usagef("--filter %q is not service=NAME, cluster=HANDLE or regex=EXPRESSION, each once", text)
		}
		*into = value
	}
	return f, nil
}

func (r *routerFlags) send(c *cobra.Command, a *command.App, client *sdk.Client, name string) error {
	if c.Flags().Changed("filter") {
		r.settings.Filters = nil
		for _, text := range r.filters {
			if text == "" {
				continue // --filter "" removes all
			}
			f, err := parseFilter(text)
			if err != nil {
				return err
			}
			r.settings.Filters = append(r.settings.Filters, f)
		}
	}
	r.request.Name, r.request.Settings = name, &r.settings
	done, err := client.NotificationRouters.Apply(c.Context(), connect.NewRequest(&r.request))
	if err != nil {
		return err
	}
	a.Wrote("notification router", name, done.Msg.GetResult(), r.request.GetDryRun())
	return printRouter(a, done.Msg.GetRouter())
}

func routerCreate(a *command.App) *cobra.Command {
	var r routerFlags
	c := &cobra.Command{
		Use: "create NAME --event EVENT --sink SINK", Short: "Create a router", Args: command.Exactly(1),
		Long: `Create a router. One of a project gets only events of that project's clusters and
services; without --project, it gets those of the hub as a whole, and needs rights on it.`,
		Example: `  axle notifications routers create failures --event service.failed --event service.recovered --sink ops
  axle notifications routers create shop --project shop --event service.update --sink ci --filter service=web,cluster=edge-1 --filter regex=/api$`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if err := command.Absent(c.Context(), client, "NotificationRouter", "notification router", args[0], "axle notifications routers update changes"); err != nil {
				return err
			}
			r.request.Management = command.Management()
			return r.send(c, a, client, args[0])
		}),
	}
	r.flags(c)
	c.Flags().StringVar(&r.settings.Project, "project", "", "project whose events it gets (default: those of the hub as a whole)")
	_ = c.MarkFlagRequired("event")
	_ = c.MarkFlagRequired("sink")
	return c
}

func routerUpdate(a *command.App) *cobra.Command {
	var r routerFlags
	management := command.Management()
	c := &cobra.Command{
		Use: "update NAME", Short: "Change a router", Args: command.Exactly(1),
		Long:    `Change a router. A flag replaces what it names, such as all events; --filter "" removes the filters.`,
		Example: "  axle notifications routers update failures --event service.failed --event cluster.create",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			have, err := client.NotificationRouters.Get(c.Context(), connect.NewRequest(&hubv1.GetNotificationRouterRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			command.Keep(c, &r.settings, have.Msg.GetSettings())
			r.request.Management = management
			return r.send(c, a, client, args[0])
		}),
	}
	r.flags(c)
	command.TakeOverFlag(c, management)
	return c
}
