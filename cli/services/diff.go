package services

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/diffview"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// The exit codes of diffs, as of kubectl diff.
const (
	exitDiffers = 1
	exitNoDiff  = 2
)

// Asker returns what requests diffs from a hub.
func Asker(client *sdk.Client) diffview.Asker {
	return diffview.Asker{
		AskDiff: func(ctx context.Context, r *hubv1.DiffServiceRequest) (*hubv1.ServiceDiff, error) {
			d, err := client.Services.Diff(ctx, connect.NewRequest(r))
			if err != nil {
				return nil, err
			}
			return d.Msg, nil
		},
		AskPreview: func(ctx context.Context, r *hubv1.PreviewServiceRequest) (*hubv1.ServiceDiff, error) {
			d, err := client.Services.Preview(ctx, connect.NewRequest(r))
			if err != nil {
				return nil, err
			}
			return d.Msg, nil
		},
	}
}

// exitsOfDiff gives errors of a diff the exit code of kubectl diff.
func exitsOfDiff(run func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil || exitcode.Has(err) {
			return err
		}
		return exitcode.With(err, exitNoDiff)
	}
}

// differs returns the exit code of a diff with differences, if yes.
func differs(yes bool) error {
	if yes {
		return exitcode.With(nil, exitDiffers)
	}
	return nil
}

func diffCommand(a *command.App) *cobra.Command {
	var cluster, dir string
	var last bool
	var timeout time.Duration
	want := &hubv1.PreviewServiceRequest{Refresh: true}
	c := &cobra.Command{
		Use: "diff CLUSTER/NAME", Short: "Show what applying a service would change on its cluster", Args: command.Exactly(1),
		Long: `Show what applying a service would change on its cluster, without changing it.

The agent runs the steps of an apply, with dry-run requests to its API server. The
result includes defaults and changes by admission webhooks. Values of Secrets are
shown as short hashes. The command also works for paused services, in closed sync
windows, and for services with dryRun. The last line names the compared revisions.

With --ref, --revision or --file, the service is compared as if it used that source.
Nothing is stored or applied. --file sends a local folder, at most 4 MiB packed, in
place of the service's files.

The exit code is 0 if nothing would change, 1 if something would, and 2 if no diff
could be made.`,
		Example: `  axle services diff edge-1/web
  axle services diff edge-1/web --ref my-branch
  axle services diff edge-1/web --revision 12
  axle services diff edge-1/web --file ./apps/web
  axle services diff edge-1/web -o json | jq '.differences[] | select(.action == "delete")'`,
		RunE: exitsOfDiff(func(c *cobra.Command, args []string) error {
			client, ref, err := a.Service(args[0], cluster)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			want.Ref = ref
			return diffOne(ctx, a, Asker(client), want, dir, last)
		}),
	}
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, if the argument is only NAME")
	c.Flags().BoolVar(&last, "last", false, "show the agent's last diff without requesting a new one")
	c.Flags().StringVar(&want.SourceRef, "ref", "", "compare with this branch, tag or commit of the service's repository")
	c.Flags().Int64Var(&want.Revision, "revision", 0, "compare with an earlier revision of the service, including its settings")
	c.Flags().StringVar(&dir, "file", "", "compare with a local folder")
	c.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait for the agent")
	c.MarkFlagsMutuallyExclusive("ref", "revision", "file", "last")
	return c
}

// diffOne compares one service and shows it.
func diffOne(ctx context.Context, a *command.App, ask diffview.Asker, want *hubv1.PreviewServiceRequest, dir string, last bool) (err error) {
	if want.Files, err = diffview.Packed(ctx, dir); err != nil {
		return err
	}
	d, of := (*hubv1.ServiceDiff)(nil), "desired"
	if want.GetSourceRef() != "" || want.GetRevision() > 0 || dir != "" {
		of = ofPreview(want)
		d, err = ask.Preview(ctx, want)
	} else {
		d, err = ask.Diff(ctx, want.GetRef(), last)
	}
	if err != nil {
		return err
	}
	view := diffview.Of(want.GetRef(), of, d)
	switch {
	case !output.Human(a.Output):
		err = command.PrintOne(a, view, func(v diffview.View) string { return v.Cluster + "/" + v.Name })
	case view.Error != "":
		return errcode.New(errcode.Unprocessable, "there is no diff of %s/%s: %s", view.Cluster, view.Name, view.Error)
	default:
		view.Write(output.Raw(a.Out), output.Colourful(a.Out, a.Getenv))
	}
	if err != nil || view.Error != "" {
		return exitcode.With(err, exitNoDiff)
	}
	return differs(view.Differs())
}

func ofPreview(want *hubv1.PreviewServiceRequest) string {
	switch {
	case want.GetSourceRef() != "":
		return "ref " + want.GetSourceRef()
	case want.GetRevision() > 0:
		return fmt.Sprintf("revision %d", want.GetRevision())
	}
	return "files"
}

// Diff shows what a ref would change in every service of a repository.
func Diff(a *command.App) *cobra.Command {
	var repository, ref, base, cluster string
	var timeout time.Duration
	c := &cobra.Command{
		Use: "diff --repo NAME --ref REF", Short: "Show what a ref, such as a pull request's, would change on all clusters", Args: command.NoArgs,
		Long: `Show what a ref, such as a pull request's branch, would change on all clusters. Every
service that follows the repository is compared as if it followed that ref. Agents are
not asked about services whose files stay the same. Differences from the declared state
that have other causes are shown too. You need the right to change the services; those
that you may not change count as failed.

The exit code is 0 if nothing would change, 1 if something would, and 2 if a service
could not be compared.`,
		Example: `  axle diff --repo fleet --ref my-branch --base main
  axle diff --repo fleet --ref refs/pull/12/head -o json | jq .summary`,
		RunE: exitsOfDiff(func(c *cobra.Command, _ []string) error {
			if repository == "" || ref == "" {
				return exitcode.Usagef("name the repository and the ref: --repo NAME --ref REF")
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			services, err := command.ListServices(ctx, client, &hubv1.ListServicesRequest{Cluster: cluster})
			if err != nil {
				return err
			}
			services = slices.DeleteFunc(services, func(s *hubv1.Service) bool {
				return !slices.ContainsFunc(s.GetSources(), func(source *hubv1.ServiceSource) bool {
					return source.GetRepository() == repository && (base == "" || source.GetRef() == base)
				})
			})
			if len(services) == 0 {
				return errcode.New(errcode.NotFound, "no service that you may read follows repository %s with these filters", repository)
			}
			p := a.Begin("comparing %s", output.Count(len(services), "service"))
			fleet := Asker(client).All(ctx, services, repository, ref, func(done, differ int) {
				p.Say("%d of %d compared, %d differ", done, len(services), differ)
			})
			p.End()
			if !output.Human(a.Output) {
				err = command.PrintOne(a, fleet, func(f diffview.Fleet) string { return f.Repository })
			} else {
				fleet.Write(output.Raw(a.Out), output.Colourful(a.Out, a.Getenv))
			}
			if err != nil || fleet.Summary.Failed > 0 {
				return exitcode.With(err, exitNoDiff)
			}
			return differs(fleet.Summary.Differ > 0)
		}),
	}
	c.Flags().StringVar(&repository, "repo", "", "repository, by name")
	c.Flags().StringVar(&ref, "ref", "", "branch, tag or commit to compare with")
	c.Flags().StringVar(&base, "base", "", "only services that follow this ref now, such as the target branch of a merge")
	c.Flags().StringVar(&cluster, "cluster", "", "only services of this cluster")
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait for all agents")
	return c
}
