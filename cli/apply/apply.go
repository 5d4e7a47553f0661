package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/plan"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

type appliedView struct {
	Kind      string   `json:"kind"`
	Name      string   `json:"name"`
	Result    string   `json:"result"`
	Where     string   `json:"where"`
	NotActing []string `json:"notActing"`
}

// applying is one run of the command.
type applying struct {
	app    *command.App
	client *sdk.Client
	files  []string
	dryRun bool
	prune  bool
	// skip leaves out objects that are not for the hub.
	skip bool
	// set is the manager's id of what is applied; empty is people.
	set        string
	management *hubv1.Management
	views      []appliedView
	// ids are what was applied of kinds of sdk/declare, as the hub names it.
	ids    map[string]bool
	failed int
	// problems are the errors in full: a table has room for their beginning.
	problems []string
	// others are left out.
	others []*manifest.Other
	// plan is what a dry run found.
	plan plan.Plan
}

// Command returns the command axle apply.
func Command(a *command.App) *cobra.Command {
	r := &applying{app: a, management: command.Management()}
	c := &cobra.Command{
		Use: "apply -f FILE|DIR", Short: "Create or update what manifests declare",
		Long: `Read Project, GitRepository, HelmRepository, Cluster, ServiceContext,
ServiceDeployment, GlobalService and ManagedNamespace objects of
deployments.plural.sh/v1alpha1, and
AccessBinding, AdminGrant, AgentUpgrade, FederationTrust, GroupMembership,
HubSettings, LoginProvider, Outputs, ProjectLimits, Repository, User and Webhook
objects of axle-cd.github.io/v1alpha1, and create or update what they declare on the hub.
Secrets, ConfigMaps, ScmConnections and sources of Flux that they refer to are read
from objects in the same files. Other objects refuse the whole, unless
--skip-other-kinds leaves them out: those of clusters, and of kinds that only the
operator reads or that have no effect yet. Misspelt kinds and API groups still do.

With --set, the set manages what the files declare: people and other tools are
refused, unless they take it over. Use one set for each folder that is applied as a
whole, such as one for each job.

Objects that are not in the files stay, unless --prune deletes them. It deletes the
services, contexts, repositories, projects, and objects of the kinds of
axle-cd.github.io, that the set manages and the files do not declare, and only after
everything else was applied.`,
		Example: "  axle apply -f fleet/ --dry-run\n  axle apply -f fleet/\n  axle apply -f fleet/ --set fleet --prune --dry-run\n  axle apply -f fleet/ --set fleet --take-over",
		Args:    command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			items, err := r.open()
			if err != nil {
				return err
			}
			r.apply(c.Context(), items)
			err = r.pruneAll(c.Context(), items)
			return errors.Join(err, r.print())
		},
	}
	flagvalue.PathsP(c.Flags(), &r.files, "filename", "f", "files, folders, or - for standard input")
	c.Flags().BoolVar(&r.dryRun, "dry-run", false, "check everything, store nothing")
	c.Flags().StringVar(&r.set, "set", "", "name of the set that manages what the files declare (default: people do)")
	c.Flags().BoolVar(&r.prune, "prune", false, "with --set: delete what the set manages and the files do not declare")
	c.Flags().BoolVar(&r.skip, "skip-other-kinds", false, "leave out, and list, objects that are not for the hub: of clusters, of the operator, or without effect yet")
	c.Flags().BoolVar(&r.management.TakeOver, "take-over", false, "also change what others manage; the set manages it from then on")
	return c
}

// open checks the arguments, reads the files and connects to the hub.
func (r *applying) open() ([]manifest.Item, error) {
	switch {
	case len(r.files) == 0:
		return nil, exitcode.Usagef("name what to apply with -f FILE|DIR|-")
	case r.prune && r.set == "":
		return nil, exitcode.Usagef("--prune needs --set NAME: it deletes what the set manages and the files do not declare")
	case r.set != "":
		r.management.By = &hubv1.Manager{Tool: "apply", Id: r.set}
	}
	items, others, err := manifest.ReadForHub(r.files, func() ([]byte, error) { return io.ReadAll(io.LimitReader(r.app.In, maxInput)) })
	if len(others) > 0 && !r.skip {
		return nil, errcode.New(errcode.Invalid, "%w; --skip-other-kinds leaves out, and lists, what is not for the hub", others[0])
	}
	if err != nil {
		return nil, err
	}
	r.others = others
	r.client, err = r.app.Client()
	return items, err
}

// apply sends one object after the other.
func (r *applying) apply(ctx context.Context, items []manifest.Item) {
	r.views, r.ids = []appliedView{}, map[string]bool{}
	added := map[string]bool{}
	for _, item := range items {
		view := appliedView{Kind: item.Kind, Name: item.Name, Where: item.Where, NotActing: append([]string{}, item.NotActing...)}
		if needed := needs(item, added); r.dryRun && needed != "" {
			// The hub cannot check a reference to what this dry run did not add.
			view.Result = "not checked, its " + needed + " is new"
			r.views = append(r.views, view)
			r.planNew(ctx, item, view)
			continue
		}
		if err := r.one(ctx, item, &view); err != nil {
			r.failed++
			view.Result = "failed: " + err.Error()
			r.problems = append(r.problems, fmt.Sprintf("%s: %s %s: %s", item.Where, item.Kind, item.Name, errcode.Text(err)))
		}
		if view.Result == "created" {
			added[item.Kind+"/"+item.Name] = true
		}
		r.views = append(r.views, view)
	}
}

// print shows what was done, and fails if some of it was not.
func (r *applying) print() error {
	for _, o := range r.others {
		r.views = append(r.views, appliedView{Kind: o.Kind, Name: o.Name, Result: "left out: " + strings.TrimPrefix(errcode.Text(o), o.Where+": "), Where: o.Where, NotActing: []string{}})
	}
	err := command.PrintList(r.app, r.views, func(v appliedView) string { return v.Kind + "/" + v.Name },
		command.Col("KIND", func(v appliedView) string { return v.Kind }),
		command.Col("NAME", func(v appliedView) string { return v.Name }),
		command.Col("RESULT", func(v appliedView) string { return v.Result }),
		command.Col("NOT ACTING YET", func(v appliedView) string { return strings.Join(v.NotActing, ", ") }),
	)
	if output.Human(r.app.Output) {
		for _, problem := range r.problems {
			fmt.Fprintln(r.app.Err, problem)
		}
	}
	if err == nil && r.failed > 0 {
		err = errcode.New(errcode.Invalid, "%d of %d objects were not applied", r.failed, len(r.views))
	}
	return err
}

// maxInput bounds what is read from standard input, in bytes.
const maxInput = 16 << 20

// item sends one object and records the result in view.
func (r *applying) item(ctx context.Context, item manifest.Item, view *appliedView) error {
	client, dryRun := r.client, r.dryRun
	switch {
	case item.Cluster != nil || item.Request != nil:
		return r.declared(ctx, item, view)
	case item.Global != nil:
		item.Global.DryRun, item.Global.Management = dryRun, r.management
		applied, err := client.GlobalServices.Apply(ctx, connect.NewRequest(item.Global))
		if err == nil {
			view.Result = applied.Msg.GetResult()
		}
		return err
	case item.Namespace != nil:
		item.Namespace.DryRun, item.Namespace.Management = dryRun, r.management
		applied, err := client.ManagedNamespaces.Apply(ctx, connect.NewRequest(item.Namespace))
		if err == nil {
			view.Result = applied.Msg.GetResult()
		}
		return err
	default:
		item.Service.DryRun, item.Service.Management = dryRun, r.management
		applied, err := client.Services.Apply(ctx, connect.NewRequest(item.Service))
		if err != nil {
			return err
		}
		view.Result = applied.Msg.GetResult()
		view.NotActing = append(view.NotActing, applied.Msg.GetService().GetNotActing()...)
		return nil
	}
}

// takes reports whether a write takes over what it would leave as it is.
func takes(have *hubv1.Manager, m *hubv1.Management) bool {
	return m.GetTakeOver() && !proto.Equal(have, m.GetBy())
}

// needs returns what an item refers to among the objects that were added, or nothing.
func needs(item manifest.Item, added map[string]bool) string {
	spec, project := item.Service.GetSpec(), item.Service.GetProject()
	if item.Global != nil {
		spec, project = item.Global.GetSpec(), item.Global.GetSettings().GetProject()
	}
	if item.Namespace != nil {
		spec, project = item.Namespace.GetSpec(), item.Namespace.GetSettings().GetProject()
	}
	for _, context := range spec.GetContexts() {
		if added["ServiceContext/"+context] {
			return "context"
		}
	}
	switch request := item.Request.(type) {
	case *hubv1.UpdateProjectRequest:
		project = request.GetName()
	case *hubv1.ListBindingsRequest:
		project = request.GetAt().GetProject()
	case *hubv1.PutOutputsRequest:
		project = request.GetOutputs().GetProject()
	case *hubv1.CreateRepositoryRequest:
		project = request.GetProject()
	}
	switch {
	case slices.ContainsFunc(repositories(spec), func(name string) bool {
		return added["GitRepository/"+name] || added["HelmRepository/"+name] || added["Repository/"+name]
	}):
		return "repository"
	case added["Project/"+project]:
		return "project"
	}
	return ""
}

// repositories are the names of those that a service follows.
func repositories(spec *hubv1.ServiceSpec) []string {
	names := []string{spec.GetRepository(), spec.GetHelm().GetRepository()}
	for _, source := range spec.GetSources() {
		names = append(names, source.GetRepository())
	}
	return names
}
