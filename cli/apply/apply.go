package apply

import (
	"context"
	"io"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/errcode"
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

// Command returns the command axle apply.
func Command(a *command.App) *cobra.Command {
	var files []string
	var dryRun bool
	c := &cobra.Command{
		Use: "apply -f FILE|DIR", Short: "Create or update what manifests declare",
		Long: `Read Project, GitRepository, Cluster, ServiceContext and ServiceDeployment objects
of deployments.plural.sh/v1alpha1 and create or update what they declare on the hub.
Secrets and ConfigMaps that they refer to are read from objects in the same files.
Objects that are not in the files stay; nothing is deleted.`,
		Example: "  axle apply -f fleet/ --dry-run\n  axle apply -f fleet/",
		Args:    command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if len(files) == 0 {
				return exitcode.Usagef("name what to apply with -f FILE|DIR|-")
			}
			items, err := manifest.Read(files, func() ([]byte, error) { return io.ReadAll(io.LimitReader(a.In, maxInput)) })
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			views := []appliedView{}
			failed := 0
			added := map[string]bool{}
			for _, item := range items {
				view := appliedView{Kind: item.Kind, Name: item.Name, Where: item.Where, NotActing: append([]string{}, item.NotActing...)}
				if needed := needs(item, added); dryRun && needed != "" {
					// The hub cannot check a reference to what this dry run
					// did not add.
					view.Result = "not checked, its " + needed + " is new"
					views = append(views, view)
					continue
				}
				if err := applyItem(c.Context(), client, item, dryRun, &view); err != nil {
					failed++
					view.Result = "failed: " + err.Error()
				}
				if view.Result == "created" {
					added[item.Kind+"/"+item.Name] = true
				}
				views = append(views, view)
			}
			err = command.PrintList(a, views, func(v appliedView) string { return v.Kind + "/" + v.Name },
				command.Col("KIND", func(v appliedView) string { return v.Kind }),
				command.Col("NAME", func(v appliedView) string { return v.Name }),
				command.Col("RESULT", func(v appliedView) string { return v.Result }),
				command.Col("NOT ACTING YET", func(v appliedView) string { return strings.Join(v.NotActing, ", ") }),
			)
			if err == nil && failed > 0 {
				err = errcode.New(errcode.Invalid, "%d of %d objects were not applied", failed, len(items))
			}
			return err
		},
	}
	c.Flags().StringSliceVarP(&files, "filename", "f", nil, "files, folders, or - for standard input")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check everything, store nothing")
	return c
}

// maxInput bounds what is read from standard input, in bytes.
const maxInput = 16 << 20

// applyItem sends one object and records the result in view.
func applyItem(ctx context.Context, client *sdk.Client, item manifest.Item, dryRun bool, view *appliedView) error {
	switch {
	case item.Project != nil:
		return applyProject(ctx, client, item.Project, dryRun, view)
	case item.Context != nil:
		return applyContext(ctx, client, item.Context, dryRun, view)
	case item.Repository != nil:
		return applyRepository(ctx, client, item.Repository, dryRun, view)
	case item.Cluster != nil:
		view.Result = "updated"
		if dryRun {
			_, err := client.Clusters.Get(ctx, connect.NewRequest(&hubv1.GetClusterRequest{Name: item.Cluster.GetName()}))
			return err
		}
		_, err := client.Clusters.Update(ctx, connect.NewRequest(item.Cluster))
		if sdk.IsNotFound(err) {
			return errcode.New(errcode.NotFound, "cluster %s is not registered; run axle clusters connect %s first", item.Cluster.GetName(), item.Cluster.GetName())
		}
		return err
	default:
		item.Service.DryRun = dryRun
		applied, err := client.Services.Apply(ctx, connect.NewRequest(item.Service))
		if err != nil {
			return err
		}
		view.Result = applied.Msg.GetResult()
		view.NotActing = append(view.NotActing, applied.Msg.GetService().GetNotActing()...)
		return nil
	}
}

// applyRepository creates a repository, or updates its credentials.
func applyRepository(ctx context.Context, client *sdk.Client, want *hubv1.CreateRepositoryRequest, dryRun bool, view *appliedView) error {
	have, err := client.Repositories.Get(ctx, connect.NewRequest(&hubv1.GetRepositoryRequest{Name: want.GetName()}))
	switch {
	case sdk.IsNotFound(err):
		view.Result = "created"
		if dryRun {
			return nil
		}
		_, err = client.Repositories.Create(ctx, connect.NewRequest(want))
		return err
	case err != nil:
		return err
	case have.Msg.GetUrl() != want.GetUrl():
		return errcode.New(errcode.Conflict, "repository %s has the URL %s, which cannot be changed; choose another name", want.GetName(), have.Msg.GetUrl())
	case want.GetCredentials() == nil:
		view.Result = "unchanged"
		return nil
	}
	view.Result = "updated"
	if dryRun {
		return nil
	}
	_, err = client.Repositories.Update(ctx, connect.NewRequest(&hubv1.UpdateRepositoryRequest{Name: want.GetName(), Credentials: want.GetCredentials()}))
	return err
}

// needs returns what an item refers to among the objects that were added, or nothing.
func needs(item manifest.Item, added map[string]bool) string {
	service := item.Service
	if service == nil {
		return ""
	}
	for _, context := range service.GetSpec().GetContexts() {
		if added["ServiceContext/"+context] {
			return "context"
		}
	}
	switch {
	case added["GitRepository/"+service.GetSpec().GetRepository()]:
		return "repository"
	case added["Project/"+service.GetProject()]:
		return "project"
	}
	return ""
}

// applyProject creates a project, or updates its description.
func applyProject(ctx context.Context, client *sdk.Client, want *hubv1.CreateProjectRequest, dryRun bool, view *appliedView) error {
	have, err := client.Projects.Get(ctx, connect.NewRequest(&hubv1.GetProjectRequest{Name: want.GetName()}))
	switch {
	case sdk.IsNotFound(err):
		view.Result = "created"
		if dryRun {
			return nil
		}
		_, err = client.Projects.Create(ctx, connect.NewRequest(want))
		return err
	case err != nil:
		return err
	case have.Msg.GetDescription() == want.GetDescription():
		view.Result = "unchanged"
		return nil
	}
	view.Result = "updated"
	if dryRun {
		return nil
	}
	_, err = client.Projects.Update(ctx, connect.NewRequest(&hubv1.UpdateProjectRequest{Name: want.GetName(), Description: &want.Description}))
	return err
}

// applyContext creates a context, or replaces its values.
func applyContext(ctx context.Context, client *sdk.Client, want *hubv1.UpdateContextRequest, dryRun bool, view *appliedView) error {
	have, err := client.Contexts.Get(ctx, connect.NewRequest(&hubv1.GetContextRequest{Name: want.GetContext().GetName()}))
	switch {
	case sdk.IsNotFound(err):
		view.Result = "created"
		if dryRun {
			return nil
		}
		_, err = client.Contexts.Create(ctx, connect.NewRequest(&hubv1.CreateContextRequest{Context: want.GetContext()}))
		return err
	case err != nil:
		return err
	case len(want.GetContext().GetSecrets()) == 0 && manifest.SameContext(have.Msg, want.GetContext()):
		view.Result = "unchanged"
		return nil
	}
	view.Result = "updated"
	if dryRun {
		return nil
	}
	_, err = client.Contexts.Update(ctx, connect.NewRequest(want))
	return err
}
