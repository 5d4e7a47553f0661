package services

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// namespaceView is a managed namespace as -o json and -o yaml show it.
type namespaceView struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Project     string            `json:"project"`
	Tags        map[string]string `json:"tags"`
	Distro      string            `json:"distro"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	PullSecrets []string          `json:"pullSecrets"`
	Cascade     string            `json:"cascade"`
	// Service is what the service NAME-core delivers, empty without one.
	Service      string              `json:"service"`
	Deleting     bool                `json:"deleting"`
	State        *globalState        `json:"state,omitempty"`
	ServiceState *globalState        `json:"serviceState,omitempty"`
	ManagedBy    command.ManagerView `json:"managedBy"`
	DeclaredBy   string              `json:"declaredBy"`
	UpdatedAt    string              `json:"updatedAt"`
	UpdatedAge   string              `json:"updatedAge"`
	ID           string              `json:"id"`
}

func newNamespaceView(a *command.App, n *hubv1.ManagedNamespace) namespaceView {
	in := n.GetSettings()
	return namespaceView{
		Name: n.GetName(), Description: in.GetDescription(), Project: in.GetProject(), Tags: some(in.GetTags()), Distro: in.GetDistro(), Labels: some(in.GetLabels()),
		Annotations: some(in.GetAnnotations()), PullSecrets: append([]string{}, in.GetPullSecrets()...), Cascade: in.GetCascade(),
		Service: globalView{
			Repository: n.GetSpec().GetRepository(), Ref: n.GetSpec().GetGit().GetRef(), Folder: n.GetSpec().GetGit().GetFolder(),
			Chart: n.GetSpec().GetHelm().GetChart(), ChartVersion: n.GetSpec().GetHelm().GetVersion(),
		}.delivers(),
		Deleting: n.GetDeleting(), State: newGlobalState(n.GetState()), ServiceState: newGlobalState(n.GetServiceState()), ManagedBy: command.NewManagerView(n.GetManagedBy()),
		DeclaredBy: n.GetDeclaredBy(), UpdatedAt: fields.Stamp(n.GetUpdatedAt()), UpdatedAge: a.Age(n.GetUpdatedAt()), ID: n.GetId(),
	}
}

func some(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func (v namespaceView) selects() string { return globalView{Tags: v.Tags, Distro: v.Distro}.selects() }

func printNamespaces(a *command.App, all []*hubv1.ManagedNamespace) error {
	views := []namespaceView{}
	for _, n := range all {
		views = append(views, newNamespaceView(a, n))
	}
	return command.PrintList(a, views, func(v namespaceView) string { return v.Name },
		command.Col("NAME", func(v namespaceView) string { return v.Name }),
		command.Col("PROJECT", func(v namespaceView) string { return cmp.Or(v.Project, "(all)") }),
		command.Col("CLUSTERS", namespaceView.selects),
		command.Col("CASCADE", func(v namespaceView) string { return cmp.Or(v.Cascade, "none") }),
		command.Col("UPDATED", func(v namespaceView) string { return command.Ago(v.UpdatedAge) }),
		command.Wide("MANAGED BY", func(v namespaceView) string { return v.ManagedBy.String() }),
	)
}

func pairs(m map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		all = append(all, key+"="+m[key])
	}
	return strings.Join(all, ", ")
}

func printNamespace(a *command.App, n *hubv1.ManagedNamespace) error {
	return command.PrintOne(a, newNamespaceView(a, n), func(v namespaceView) string { return v.Name },
		command.Col("Name", func(v namespaceView) string { return v.Name }),
		command.Col("Description", func(v namespaceView) string { return v.Description }),
		command.Col("Project", func(v namespaceView) string { return cmp.Or(v.Project, "(all)") }),
		command.Col("Clusters", namespaceView.selects),
		command.Col("Labels", func(v namespaceView) string { return pairs(v.Labels) }),
		command.Col("Annotations", func(v namespaceView) string { return pairs(v.Annotations) }),
		command.Col("Pull secrets", func(v namespaceView) string { return strings.Join(v.PullSecrets, ", ") }),
		command.Col("Cascade", func(v namespaceView) string { return cmp.Or(v.Cascade, "none") }),
		command.Col("Service", func(v namespaceView) string { return v.Service }),
		command.Col("State", func(v namespaceView) string { return v.State.words("cluster", v.Deleting) }),
		command.Col("Service state", func(v namespaceView) string { return v.ServiceState.words("cluster", false) }),
		command.Col("Failing", func(v namespaceView) string {
			return strings.TrimSpace(v.State.failing() + "\n" + v.ServiceState.failing())
		}),
		command.Col("Managed by", func(v namespaceView) string { return v.ManagedBy.String() }),
		command.Col("Updated", func(v namespaceView) string { return fmt.Sprintf("by %s %s", v.DeclaredBy, command.Ago(v.UpdatedAge)) }),
	)
}

// Namespaces returns the command axle namespaces.
func Namespaces(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "ManagedNamespace", "List managed namespaces", "  axle namespaces list -o wide", printNamespaces)
	get := command.Gets(a, "ManagedNamespace", "Show managed namespaces, and on how many clusters they are ready", "  axle namespaces get monitoring\n  axle namespaces get monitoring -o json | jq .state", printNamespace, printNamespaces)
	remove := command.Deletes(a, "ManagedNamespace", "managed namespace", "is being deleted", "Stop managing namespaces; they stay on the clusters unless --cascade delete was set", "  axle namespaces delete monitoring")
	return command.Noun("namespaces", "Manage namespaces, the same one on every selected cluster", []string{"namespace", "managednamespaces"}, list, get, namespaceCreate(a), namespaceUpdate(a), remove)
}

// namespaceFlags are the flags of a managed namespace, beside those of its service.
type namespaceFlags struct {
	specFlags
	settings  hubv1.ManagedNamespaceSettings
	noService bool
	dryRun    bool
	takeOver  bool
}

func (n *namespaceFlags) flags(c *cobra.Command) {
	n.specFlags.flags(c)
	f := c.Flags()
	for _, name := range []string{"namespace", "create-namespace"} {
		f.Lookup(name).Hidden = true // the namespace is NAME
	}
	f.StringVar(&n.settings.Description, "description", "", "purpose of the namespace")
	flagvalue.Labels(f, &n.settings.Labels, "label", "label of the namespace, KEY=VALUE; may be repeated")
	flagvalue.Pairs(f, &n.settings.Annotations, "annotation", "annotation of the namespace, KEY=VALUE; may be repeated")
	flagvalue.List(f, &n.settings.PullSecrets, "pull-secret", "image pull secret in the namespace, for its default service account; may be repeated")
	flagvalue.Labels(f, &n.settings.Tags, "tag", "only clusters with this tag, KEY=VALUE; may be repeated")
	f.StringVar(&n.settings.Distro, "distro", "", "only clusters of this vendor: "+rule.Or(rule.Distros))
	f.StringVar(&n.settings.Project, "project", "", "only clusters of this project (default: of all projects, which needs rights on the whole hub)")
	f.StringVar(&n.settings.Cascade, "cascade", "", "delete: also delete the namespace, with everything in it, from clusters that are no longer selected (default: it stays)")
	f.BoolVar(&n.dryRun, "dry-run", false, "check everything, store nothing")
	command.Complete(c, "distro", rule.Distros...)
	command.Complete(c, "cascade", rule.Cascades...)
}

// service is the template that the flags declare, nil for none.
func (n *namespaceFlags) service(c *cobra.Command) (*hubv1.ServiceSpec, error) {
	spec, given, err := n.build(c)
	if err != nil || len(given) == 0 && len(spec.GetSources()) == 0 {
		return nil, err
	}
	if spec.GetGit() == nil && spec.GetHelm().GetChart() == "" && len(spec.GetSources()) == 0 {
		return nil, exitcode.Usagef("name what the service delivers: --repo NAME --ref REF --folder FOLDER, or a chart with --chart-url URL --chart NAME, or --source")
	}
	return spec, nil
}

func (n *namespaceFlags) send(c *cobra.Command, a *command.App, client *sdk.Client, request *hubv1.ApplyManagedNamespaceRequest) error {
	request.DryRun, request.Management = n.dryRun, command.Management()
	request.Management.TakeOver = n.takeOver
	done, err := client.ManagedNamespaces.Apply(c.Context(), connect.NewRequest(request))
	if err != nil {
		return err
	}
	a.Wrote("managed namespace", request.GetName(), done.Msg.GetResult(), n.dryRun)
	return printNamespace(a, done.Msg.GetNamespace())
}

func namespaceCreate(a *command.App) *cobra.Command {
	var flags namespaceFlags
	c := &cobra.Command{
		Use: "create NAME", Short: "Keep a namespace on every selected cluster", Args: command.Exactly(1),
		Long: `Keep a namespace on every selected cluster, also on those that register later. All
selectors that are given must match; without any, every cluster is selected. A namespace
that exists already gets the labels and annotations, and keeps its others.

The flags of a service, such as --repo, run a service in it. It is called NAME-core.`,
		Example: `  axle namespaces create monitoring --tag tier=edge --label team=platform --pull-secret registry
  axle namespaces create shop --project shop --cascade delete --repo fleet --ref main --folder base/shop`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			err := command.Absent(c.Context(), client, "ManagedNamespace", "managed namespace", args[0], "axle namespaces update changes")
			if err != nil {
				return err
			}
			request := &hubv1.ApplyManagedNamespaceRequest{Name: args[0], Settings: &flags.settings}
			if request.Spec, err = flags.service(c); err != nil {
				return err
			}
			return flags.send(c, a, client, request)
		}),
	}
	flags.flags(c)
	return c
}

func namespaceUpdate(a *command.App) *cobra.Command {
	var flags namespaceFlags
	c := &cobra.Command{
		Use: "update NAME", Short: "Change a managed namespace", Args: command.Exactly(1),
		Long: `Change a managed namespace. A flag replaces what it names, such as all labels. The flags
of a service replace the whole service; --no-service removes it.`,
		Example: `  axle namespaces update monitoring --label team=platform --label tier=base
  axle namespaces update shop --no-service`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			have, err := client.ManagedNamespaces.Get(c.Context(), connect.NewRequest(&hubv1.GetManagedNamespaceRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			command.Keep(c, &flags.settings, have.Msg.GetSettings())
			request := &hubv1.ApplyManagedNamespaceRequest{Name: args[0], Settings: &flags.settings}
			if request.Spec, err = flags.service(c); err != nil {
				return err
			}
			switch {
			case flags.noService && request.GetSpec() != nil:
				return exitcode.Usagef("--no-service removes the service; leave out its other flags")
			case !flags.noService && request.GetSpec() == nil:
				request.Spec = have.Msg.GetSpec()
			}
			return flags.send(c, a, client, request)
		}),
	}
	flags.flags(c)
	c.Flags().BoolVar(&flags.noService, "no-service", false, "remove the service of the namespace")
	c.Flags().BoolVar(&flags.takeOver, "take-over", false, "change it although the operator, Terraform or axle apply manages it; people manage it from then on")
	return c
}
