package cli

import (
	"context"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

type projectView struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Clusters    int32  `json:"clusters"`
	Services    int32  `json:"services"`
	CreatedAt   string `json:"createdAt"`
	CreatedAge  string `json:"createdAge"`
	ID          string `json:"id"`

	Limits limitsView `json:"limits"`
}

func (a *app) projectView(p *hubv1.Project) projectView {
	return projectView{p.GetName(), p.GetDescription(), p.GetClusters(), p.GetServices(), stamp(p.GetCreatedAt()), a.age(p.GetCreatedAt()), p.GetId(), limitsOf(p.GetLimits())}
}

func (a *app) printProject(p *hubv1.Project) error {
	rows := []column[projectView]{
		col("Name", projectName),
		col("Description", func(v projectView) string { return v.Description }),
		col("Clusters", func(v projectView) string { return strconv.Itoa(int(v.Clusters)) }),
		col("Services", func(v projectView) string { return strconv.Itoa(int(v.Services)) }),
		col("Created", func(v projectView) string {
			if v.CreatedAge == "" {
				return "with the hub"
			}
			return ago(v.CreatedAge)
		}),
	}
	return printOne(a, a.projectView(p), projectName, append(rows, limitColumns(p.GetLimits())...)...)
}

func projectName(v projectView) string { return v.Name }

func (a *app) printProjects(all []*hubv1.Project) error {
	views := []projectView{}
	for _, p := range all {
		views = append(views, a.projectView(p))
	}
	return printList(a, views, projectName,
		col("NAME", projectName),
		col("CLUSTERS", func(v projectView) string { return strconv.Itoa(int(v.Clusters)) }),
		col("SERVICES", func(v projectView) string { return strconv.Itoa(int(v.Services)) }),
		ages("AGE", func(v projectView) string { return v.CreatedAge }),
		wide("NAMESPACES", func(v projectView) string { return strings.Join(v.Limits.Namespaces, ",") }),
		wide("KINDS", func(v projectView) string { return strings.Join(v.Limits.Kinds, ",") }),
		col("DESCRIPTION", func(v projectView) string { return v.Description }),
	)
}

func (a *app) projects() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List projects", Args: noArgs,
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Projects.List(c.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{}))
			if err != nil {
				return err
			}
			return a.printProjects(all.Msg.GetProjects())
		}),
	}
	get := &cobra.Command{
		Use: "get NAME…", Short: "Show projects", Args: atLeast(1),
		RunE: shows(a, func(ctx context.Context, client *sdk.Client, name string) (*connect.Response[hubv1.Project], error) {
			return client.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: name}))
		}, a.printProject, a.printProjects),
	}
	var description string
	var declared limitFlags
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a project", Args: exactly(1),
		Long: `Create a project. What its services may touch is limited by the rights of the
account that acts for them on the cluster, and also by the limits given here:
agents refuse rendered objects outside these limits.`,
		Example: `  axle projects create shop --allow-namespace 'shop-*' --service-account deployer
  axle projects create infra --allow-kind 'Deployment.apps' --allow-kind 'Config*' --cluster-scoped`,
		RunE: func(c *cobra.Command, args []string) error {
			limits, err := declared.change(c, nil)
			if err != nil {
				return err
			}
			client, err := a.client()
			if err != nil {
				return err
			}
			p, err := client.Projects.Create(c.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: args[0], Description: description, Limits: limits}))
			if err != nil {
				return err
			}
			return a.printProject(p.Msg)
		},
	}
	create.Flags().StringVar(&description, "description", "", "purpose of the project")
	declared.register(create)
	remove := &cobra.Command{
		Use: "delete NAME…", Short: "Delete empty projects", Args: atLeast(1),
		RunE: removes(a, "project", "deleted", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.Projects.Delete(ctx, connect.NewRequest(&hubv1.DeleteProjectRequest{Name: name}))
			return err
		}),
	}
	return noun("projects", "Manage projects, which group clusters, repositories and services", []string{"project"}, list, get, create, a.projectsUpdate(), remove)
}

func (a *app) projectsUpdate() *cobra.Command {
	var description string
	var declared limitFlags
	c := &cobra.Command{
		Use: "update NAME", Short: "Change the description or the limits of a project", Args: exactly(1),
		Long: `Change a project. A flag replaces the limit that it names; other limits stay. The
services of the project get new limits with their next poll. You cannot exclude a
namespace that services of the project use now.`,
		Example: `  axle projects update shop --allow-namespace 'shop-*,shared' --allow-kind 'Deployment.apps,Service,ConfigMap'
  axle projects update shop --sync-window 'allow:0 9 * * mon-fri:8h:Europe/Berlin' --sync-window 'deny:0 12 * * *:1h'
  axle projects update shop --allow-namespace ''`,
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			before, err := client.Projects.Get(c.Context(), connect.NewRequest(&hubv1.GetProjectRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			request := &hubv1.UpdateProjectRequest{Name: args[0]}
			if request.Limits, err = declared.change(c, before.Msg.GetLimits()); err != nil {
				return err
			}
			if c.Flags().Changed("description") {
				request.Description = &description
			}
			if request.Limits == nil && request.Description == nil {
				return usagef("give a flag to change something; axle projects update --help lists the flags")
			}
			p, err := client.Projects.Update(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			return a.printProject(p.Msg)
		}),
	}
	c.Flags().StringVar(&description, "description", "", "purpose of the project")
	declared.register(c)
	return c
}
