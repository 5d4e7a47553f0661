package services

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// globalView is a global service as -o json and -o yaml show it.
type globalView struct {
	Name           string              `json:"name"`
	Project        string              `json:"project"`
	Tags           map[string]string   `json:"tags"`
	Distro         string              `json:"distro"`
	Mgmt           *bool               `json:"mgmt,omitempty"`
	IgnoreClusters []string            `json:"ignoreClusters"`
	Cascade        string              `json:"cascade"`
	Reparent       bool                `json:"reparent"`
	Context        string              `json:"context,omitempty"`
	Waves          []string            `json:"waves,omitempty"`
	RollingOut     bool                `json:"rollingOut"`
	Repository     string              `json:"repository,omitempty"`
	Ref            string              `json:"ref,omitempty"`
	Folder         string              `json:"folder,omitempty"`
	Chart          string              `json:"chart,omitempty"`
	ChartVersion   string              `json:"chartVersion,omitempty"`
	Deleting       bool                `json:"deleting"`
	State          *globalState        `json:"state,omitempty"`
	ManagedBy      command.ManagerView `json:"managedBy"`
	DeclaredBy     string              `json:"declaredBy"`
	UpdatedAt      string              `json:"updatedAt"`
	UpdatedAge     string              `json:"updatedAge"`
	ID             string              `json:"id"`
}

type globalState struct {
	Services int32            `json:"services"`
	Ready    int32            `json:"ready"`
	Sync     map[string]int32 `json:"sync"`
	Health   map[string]int32 `json:"health"`
	Failing  int32            `json:"failing"`
	Pending  bool             `json:"pending"`
	Failures []globalFailure  `json:"failures"`
	// Uncounted are clusters that are not selected only because of who set their tags.
	Uncounted []globalUncounted `json:"uncounted,omitempty"`
}

type globalFailure struct {
	Cluster string `json:"cluster"`
	Message string `json:"message"`
}

type globalUncounted struct {
	Cluster string   `json:"cluster"`
	Tags    []string `json:"tags"`
}

func newGlobalView(a *command.App, g *hubv1.GlobalService) globalView {
	in, spec := g.GetSettings(), g.GetSpec()
	v := globalView{
		Name: g.GetName(), Project: in.GetProject(), Tags: in.GetTags(), Distro: in.GetDistro(), IgnoreClusters: append([]string{}, in.GetIgnoreClusters()...),
		Cascade: in.GetCascade(), Reparent: in.GetReparent(), Context: in.GetContext(), Repository: spec.GetRepository(), Ref: spec.GetGit().GetRef(),
		Folder: spec.GetGit().GetFolder(), Chart: spec.GetHelm().GetChart(), ChartVersion: spec.GetHelm().GetVersion(), Deleting: g.GetDeleting(),
		ManagedBy: command.NewManagerView(g.GetManagedBy()), DeclaredBy: g.GetDeclaredBy(), UpdatedAt: fields.Stamp(g.GetUpdatedAt()), UpdatedAge: a.Age(g.GetUpdatedAt()), ID: g.GetId(),
	}
	if v.Tags == nil {
		v.Tags = map[string]string{}
	}
	if in != nil {
		v.Mgmt = in.Mgmt
	}
	v.Waves, v.RollingOut = in.GetRollout().GetWaves(), g.GetRollingOut()
	v.State = newGlobalState(g.GetState())
	return v
}

func newGlobalState(s *hubv1.GlobalServiceState) *globalState {
	if s == nil {
		return nil
	}
	out := &globalState{Services: s.GetServices(), Ready: s.GetReady(), Sync: s.GetSync(), Health: s.GetHealth(), Failing: s.GetFailing(), Pending: s.GetPending(), Failures: []globalFailure{}}
	for _, f := range s.GetFailures() {
		out.Failures = append(out.Failures, globalFailure{f.GetCluster(), f.GetMessage()})
	}
	for _, u := range s.GetUncounted() {
		out.Uncounted = append(out.Uncounted, globalUncounted{u.GetCluster(), u.GetTags()})
	}
	return out
}

// words is the state on one line; of says what is counted.
func (s *globalState) words(of string, deleting bool) string {
	switch {
	case s == nil:
		return ""
	case deleting:
		return fmt.Sprintf("is being deleted; %s left", output.Count(s.Services, of))
	}
	text := fmt.Sprintf("%d of %s ready", s.Ready, output.Count(s.Services, of))
	if s.Pending {
		text += "; the last change has not reached all clusters"
	}
	return text
}

// failing names the clusters without what is wanted.
func (s *globalState) failing() string {
	if s == nil {
		return ""
	}
	var lines []string
	for _, f := range s.Failures {
		lines = append(lines, f.Cluster+": "+f.Message)
	}
	return strings.Join(lines, "\n")
}

// uncounted names the clusters that are left out for who set their tags.
func (s *globalState) uncounted() string {
	if s == nil {
		return ""
	}
	var lines []string
	for _, u := range s.Uncounted {
		lines = append(lines, u.Cluster+": no administrator set "+strings.Join(u.Tags, ", "))
	}
	return strings.Join(lines, "\n")
}

// selects describes the selectors on one line.
func (v globalView) selects() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(v.Tags)) {
		all = append(all, key+"="+v.Tags[key])
	}
	if v.Distro != "" {
		all = append(all, "distro "+v.Distro)
	}
	if v.Mgmt != nil && !*v.Mgmt {
		all = append(all, "not the hub's own")
	}
	for _, handle := range v.IgnoreClusters {
		all = append(all, "not "+handle)
	}
	return cmp.Or(strings.Join(all, ", "), "all clusters")
}

func (v globalView) delivers() string {
	return strings.TrimSpace(strings.Join([]string{v.Repository, v.Ref, v.Folder, v.Chart, v.ChartVersion}, " "))
}

func printGlobals(a *command.App, all []*hubv1.GlobalService) error {
	views := []globalView{}
	for _, g := range all {
		views = append(views, newGlobalView(a, g))
	}
	return command.PrintList(a, views, func(v globalView) string { return v.Name },
		command.Col("NAME", func(v globalView) string { return v.Name }),
		command.Col("PROJECT", func(v globalView) string { return cmp.Or(v.Project, "(all)") }),
		command.Col("CLUSTERS", globalView.selects),
		command.Col("CASCADE", func(v globalView) string { return cmp.Or(v.Cascade, "none") }),
		command.Col("UPDATED", func(v globalView) string { return command.Ago(v.UpdatedAge) }),
		command.Wide("MANAGED BY", func(v globalView) string { return v.ManagedBy.String() }),
	)
}

func printGlobal(a *command.App, g *hubv1.GlobalService) error {
	return command.PrintOne(a, newGlobalView(a, g), func(v globalView) string { return v.Name },
		command.Col("Name", func(v globalView) string { return v.Name }),
		command.Col("Project", func(v globalView) string { return cmp.Or(v.Project, "(all)") }),
		command.Col("Clusters", globalView.selects),
		command.Col("Delivers", globalView.delivers),
		command.Col("Cascade", func(v globalView) string { return cmp.Or(v.Cascade, "none") }),
		command.Col("State", func(v globalView) string {
			text := v.State.words("service", v.Deleting)
			if v.RollingOut && !v.Deleting && v.State != nil {
				text += "; a change does not run everywhere, see axle rollouts get " + v.Name
			}
			return text
		}),
		command.Col("Sync", func(v globalView) string {
			return counted(v.State, func(s *globalState) map[string]int32 { return s.Sync })
		}),
		command.Col("Health", func(v globalView) string {
			return counted(v.State, func(s *globalState) map[string]int32 { return s.Health })
		}),
		command.Col("Failing", func(v globalView) string { return v.State.failing() }),
		command.Col("Not selected", func(v globalView) string { return v.State.uncounted() }),
		command.Col("Waves", func(v globalView) string { return strings.Join(v.Waves, ", ") }),
		command.Col("Managed by", func(v globalView) string { return v.ManagedBy.String() }),
		command.Col("Updated", func(v globalView) string { return fmt.Sprintf("by %s %s", v.DeclaredBy, command.Ago(v.UpdatedAge)) }),
	)
}

func counted(s *globalState, of func(*globalState) map[string]int32) string {
	if s == nil {
		return ""
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of(s))) {
		all = append(all, fmt.Sprintf("%s %d", name, of(s)[name]))
	}
	return strings.Join(all, ", ")
}

// GlobalServices returns the command axle globalservices.
func GlobalServices(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "GlobalService", "List global services", "  axle globalservices list -o wide", printGlobals)
	get := command.Gets(a, "GlobalService", "Show global services, and how their services are", "  axle globalservices get web\n  axle globalservices get web -o json | jq .state", printGlobal, printGlobals)
	remove := command.Deletes(a, "GlobalService", "global service", "is being deleted", "Delete global services; their cascade decides about their services", "  axle globalservices delete web")
	return command.Noun("globalservices", "Manage global services, one service on every selected cluster", []string{"globalservice", "globals"}, list, get, globalWrite(a, true), globalWrite(a, false), remove)
}

// globalFlags are the flags of a global service beside those of its template.
type globalFlags struct {
	specFlags
	settings    hubv1.GlobalServiceSettings
	mgmt        bool
	contextFile string
	plan        hubv1.RolloutPlan
	soak, late  time.Duration
}

func (g *globalFlags) flags(c *cobra.Command) {
	g.specFlags.flags(c)
	f := c.Flags()
	flagvalue.Labels(f, &g.settings.Tags, "tag", "only clusters with this tag, KEY=VALUE; may be repeated")
	f.StringVar(&g.settings.Distro, "distro", "", "only clusters of this vendor: "+rule.Or(rule.Distros))
	f.StringVar(&g.settings.Project, "project", "", "only clusters of this project (default: of all projects, which needs rights on the whole hub)")
	f.BoolVar(&g.mgmt, "mgmt", true, "with =false: not the hub's own cluster")
	flagvalue.List(f, &g.settings.IgnoreClusters, "ignore-cluster", "handle of a cluster to leave out; may be repeated")
	f.StringVar(&g.settings.Cascade, "cascade", "", "for services that are no longer wanted: delete, or detach to leave their objects on the cluster (default: they stay)")
	f.BoolVar(&g.settings.Reparent, "reparent", false, "take over services with this name that others created")
	f.StringVar(&g.contextFile, "context-file", "", "YAML or JSON file with an object, context in the template's Liquid")
	flagvalue.List(f, &g.plan.Waves, "wave", "roll changes out in waves: clusters that have a change after each, as numbers or percentages, such as 1,5%,25%,100% (default: all at once)")
	f.StringVar(&g.plan.MaxUnavailable, "max-unavailable", "", "clusters that may have a change and not be healthy yet, a number or a percentage (default: a whole wave)")
	f.DurationVar(&g.soak, "soak", 0, "how long a wave must be healthy before the next one begins (default: 15m)")
	f.DurationVar(&g.late, "fail-after", 0, "when a cluster that is not healthy counts as failed (default: 10m)")
	f.Int32Var(&g.plan.FailPercent, "max-failed", 0, "percentage of a wave that may fail before the rollout stops (default: 5)")
	command.Complete(c, "distro", rule.Distros...)
	command.Complete(c, "cascade", rule.Cascades...)
}

// request is what the flags declare.
func (g *globalFlags) request(c *cobra.Command, name string) (*hubv1.ApplyGlobalServiceRequest, error) {
	spec, _, err := g.build(c)
	if err != nil {
		return nil, err
	}
	if spec.GetGit() == nil && spec.GetHelm().GetChart() == "" && len(spec.GetSources()) == 0 {
		return nil, exitcode.Usagef("name what to deliver: --repo NAME --ref REF --folder FOLDER, or a chart with --chart-url URL --chart NAME, or --source")
	}
	if c.Flags().Changed("mgmt") {
		g.settings.Mgmt = &g.mgmt
	}
	switch {
	case len(g.plan.GetWaves()) > 0:
		g.plan.SoakMicros, g.plan.FailAfterMicros = g.soak.Microseconds(), g.late.Microseconds()
		g.settings.Rollout = &g.plan
	case g.plan.GetMaxUnavailable() != "" || g.plan.GetFailPercent() != 0 || g.soak != 0 || g.late != 0:
		return nil, exitcode.Usagef("--max-unavailable, --soak, --fail-after and --max-failed are about waves; add --wave, such as --wave 1,25%%,100%%")
	}
	if g.contextFile != "" {
		text, err := os.ReadFile(g.contextFile)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "%w", err)
		}
		object, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "--context-file %s: %w", g.contextFile, err)
		}
		g.settings.Context = string(object)
	}
	return &hubv1.ApplyGlobalServiceRequest{Name: name, Settings: &g.settings, Spec: spec, Management: command.Management()}, nil
}

// globalWrite is the command create, or apply, which also replaces.
func globalWrite(a *command.App, create bool) *cobra.Command {
	var flags globalFlags
	var dryRun, takeOver bool
	c := &cobra.Command{
		Use: "apply NAME", Short: "Create or replace a global service",
		Example: "  axle globalservices apply web --tag tier=edge --repo fleet --ref v2 --folder apps/web --cascade delete",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request, err := flags.request(c, args[0])
			if err != nil {
				return err
			}
			request.DryRun, request.Management.TakeOver = dryRun, takeOver
			if create {
				if err := command.Absent(c.Context(), client, "GlobalService", "global service", args[0], "axle globalservices apply replaces"); err != nil {
					return err
				}
			}
			done, err := client.GlobalServices.Apply(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			a.Wrote("global service", args[0], done.Msg.GetResult(), dryRun)
			return printGlobal(a, done.Msg.GetGlobalService())
		}),
	}
	flags.flags(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check everything, store nothing")
	if create {
		c.Use, c.Short = "create NAME", "Run one service on every selected cluster"
		c.Long = `Run one service on every selected cluster. All selectors that are given must match;
without any, every cluster is selected, those that register later too. The refs, the
folders, the chart and its version, values files and --bind may contain Liquid with
cluster and context.`
		c.Example = `  axle globalservices create web --tag tier=edge --repo fleet --ref main --folder apps/web
  axle globalservices create agent --project shop --distro EKS --repo fleet --ref main --folder 'clusters/{{ cluster.handle }}' --cascade delete`
		return c
	}
	c.Flags().BoolVar(&takeOver, "take-over", false, "change it although the operator, Terraform or axle apply manages it; people manage it from then on")
	return c
}
