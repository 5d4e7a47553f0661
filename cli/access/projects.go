package access

import (
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/limits"
	"github.com/axle-cd/axle/sdk"
)

// limitsManager is who manages the limits of a project.
func limitsManager(p *hubv1.Project) string {
	return command.NewManagerView(p.GetLimitsManagedBy()).String()
}

func printProject(a *command.App, p *hubv1.Project) error {
	rows := []command.Column[*hubv1.Project]{
		command.Col("Name", (*hubv1.Project).GetName),
		command.Col("Description", (*hubv1.Project).GetDescription),
		command.Col("Rights", func(v *hubv1.Project) string {
			if v.GetAdministratorsOnly() {
				return "administrators only"
			}
			return ""
		}),
		command.Col("Clusters", func(v *hubv1.Project) string { return strconv.Itoa(int(v.GetClusters())) }),
		command.Col("Services", func(v *hubv1.Project) string { return strconv.Itoa(int(v.GetServices())) }),
		command.Col("Managed by", command.ManagerOf[*hubv1.Project]),
		command.Col("Limits managed by", limitsManager),
		command.Col("Created", func(v *hubv1.Project) string {
			if v.GetCreatedAt() == 0 {
				return "with the hub"
			}
			return command.Ago(a.Age(v.GetCreatedAt()))
		}),
	}
	for _, line := range limits.Lines(p.GetLimits()) {
		rows = append(rows, command.Col(line.Title, func(*hubv1.Project) string { return line.Text }))
	}
	return command.PrintOne(a, p, (*hubv1.Project).GetName, rows...)
}

func printProjects(a *command.App, all []*hubv1.Project) error {
	return command.PrintList(a, all, (*hubv1.Project).GetName,
		command.Col("NAME", (*hubv1.Project).GetName),
		command.Col("CLUSTERS", func(v *hubv1.Project) string { return strconv.Itoa(int(v.GetClusters())) }),
		command.Col("SERVICES", func(v *hubv1.Project) string { return strconv.Itoa(int(v.GetServices())) }),
		command.Ages("AGE", func(v *hubv1.Project) string { return a.Age(v.GetCreatedAt()) }),
		command.Wide("NAMESPACES", func(v *hubv1.Project) string { return strings.Join(v.GetLimits().GetNamespaces(), ",") }),
		command.Wide("KINDS", func(v *hubv1.Project) string { return strings.Join(v.GetLimits().GetKinds(), ",") }),
		command.Wide("MANAGED BY", command.ManagerOf[*hubv1.Project]),
		command.Wide("LIMITS MANAGED BY", limitsManager),
		command.Col("DESCRIPTION", (*hubv1.Project).GetDescription),
	)
}

// Projects returns the command axle projects.
func Projects(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "Project", "List projects", "", printProjects)
	get := command.Gets(a, "Project", "Show projects", "", printProject, printProjects)
	remove := command.Deletes(a, "Project", "project", "deleted", "Delete empty projects", "")
	return command.Noun("projects", "Manage projects, which group clusters, repositories and services", []string{"project"}, list, get, projectsCreate(a), projectsUpdate(a), remove)
}

func projectsCreate(a *command.App) *cobra.Command {
	var description string
	var administrators bool
	var declared limits.Flags
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a project", Args: command.Exactly(1),
		Long: `Create a project. Its services may touch the objects that the account acting for them
on the cluster may touch, within the limits given here: agents refuse rendered
objects outside these limits.

With --administrators-only no role binding gives rights in the project, not even one of
the whole hub. It is for the cluster that the hub runs in, and cannot be changed later.`,
		Example: `  axle projects create shop --allow-namespace 'shop-*' --service-account deployer
  axle projects create infra --allow-kind 'Deployment.apps' --allow-kind 'Config*' --cluster-scoped
  axle projects create axle-system --administrators-only`,
		RunE: func(c *cobra.Command, args []string) error {
			wanted, err := declared.Change(c, nil)
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			p, err := client.Projects.Create(c.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: args[0], Description: description, Limits: wanted, AdministratorsOnly: administrators, Management: command.Management()}))
			if err != nil {
				return err
			}
			return printProject(a, p.Msg)
		},
	}
	c.Flags().StringVar(&description, "description", "", "purpose of the project")
	c.Flags().BoolVar(&administrators, "administrators-only", false, "let no role binding give rights in it")
	declared.Register(c)
	return c
}

func projectsUpdate(a *command.App) *cobra.Command {
	var description string
	management := command.Management()
	var declared limits.Flags
	c := &cobra.Command{
		Use: "update NAME", Short: "Change the description or the limits of a project", Args: command.Exactly(1),
		Long: `Change a project. A flag replaces the limit that it names; other limits stay. The
services of the project get new limits with their next poll. You cannot exclude a
namespace that services of the project use now.`,
		Example: `  axle projects update shop --allow-namespace 'shop-*,shared' --allow-kind 'Deployment.apps,Service,ConfigMap'
  axle projects update shop --sync-window 'allow:0 9 * * mon-fri:8h:Europe/Berlin' --sync-window 'deny:0 12 * * *:1h'
  axle projects update shop --allow-namespace ''`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			before, err := client.Projects.Get(c.Context(), connect.NewRequest(&hubv1.GetProjectRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			request := &hubv1.UpdateProjectRequest{Name: args[0], Management: management}
			if request.Limits, err = declared.Change(c, before.Msg.GetLimits()); err != nil {
				return err
			}
			if c.Flags().Changed("description") {
				request.Description = &description
			}
			if request.Limits == nil && request.Description == nil && !management.GetTakeOver() {
				return exitcode.Usagef("give a flag to change something; axle projects update --help lists the flags")
			}
			p, err := client.Projects.Update(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return printProject(a, p.Msg)
		}),
	}
	c.Flags().StringVar(&description, "description", "", "purpose of the project")
	command.TakeOverFlag(c, management)
	declared.Register(c)
	return c
}
