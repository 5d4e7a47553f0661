package cli

import (
	"fmt"
	"strconv"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

type projectView struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Clusters    int32  `json:"clusters"`
	Services    int32  `json:"services"`
	CreatedAt   string `json:"createdAt"`
	CreatedAge  string `json:"createdAge"`
	ID          string `json:"id"`
}

func (a *app) projectView(p *hubv1.Project) projectView {
	return projectView{p.GetName(), p.GetDescription(), p.GetClusters(), p.GetServices(), stamp(p.GetCreatedAt()), a.age(p.GetCreatedAt()), p.GetId()}
}

func (a *app) printProject(p *hubv1.Project) error {
	return printOne(a, a.projectView(p), func(v projectView) string { return v.Name },
		column[projectView]{"Name", func(v projectView) string { return v.Name }},
		column[projectView]{"Description", func(v projectView) string { return v.Description }},
		column[projectView]{"Clusters", func(v projectView) string { return strconv.Itoa(int(v.Clusters)) }},
		column[projectView]{"Services", func(v projectView) string { return strconv.Itoa(int(v.Services)) }},
		column[projectView]{"Created", func(v projectView) string { return ago(v.CreatedAge) }},
	)
}

func (a *app) projects() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List projects", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			all, err := client.Projects.List(c.Context(), connect.NewRequest(&hubv1.ListProjectsRequest{}))
			if err != nil {
				return err
			}
			views := []projectView{}
			for _, p := range all.Msg.GetProjects() {
				views = append(views, a.projectView(p))
			}
			return printList(a, views, func(v projectView) string { return v.Name },
				column[projectView]{"NAME", func(v projectView) string { return v.Name }},
				column[projectView]{"CLUSTERS", func(v projectView) string { return strconv.Itoa(int(v.Clusters)) }},
				column[projectView]{"SERVICES", func(v projectView) string { return strconv.Itoa(int(v.Services)) }},
				column[projectView]{"AGE", func(v projectView) string { return v.CreatedAge }},
				column[projectView]{"DESCRIPTION", func(v projectView) string { return v.Description }},
			)
		},
	}
	get := &cobra.Command{
		Use: "get NAME", Short: "Show one project", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			p, err := client.Projects.Get(c.Context(), connect.NewRequest(&hubv1.GetProjectRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			return a.printProject(p.Msg)
		},
	}
	var description string
	create := &cobra.Command{
		Use: "create NAME", Short: "Make a project", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			p, err := client.Projects.Create(c.Context(), connect.NewRequest(&hubv1.CreateProjectRequest{Name: args[0], Description: description}))
			if err != nil {
				return err
			}
			return a.printProject(p.Msg)
		},
	}
	create.Flags().StringVar(&description, "description", "", "what it is for")
	remove := &cobra.Command{
		Use: "delete NAME", Short: "Delete a project that holds nothing", Args: exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			if _, err := client.Projects.Delete(c.Context(), connect.NewRequest(&hubv1.DeleteProjectRequest{Name: args[0]})); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "project %s deleted\n", args[0])
			return err
		},
	}
	return noun("projects", "Projects group clusters, repositories and services", []string{"project"}, list, get, create, remove)
}
