package services

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/final"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// waiting says whether, for what and how long to wait.
type waiting struct {
	wanted bool
	// stopped waits until agents have heard of a pause, instead of until services are ready.
	stopped bool
	// cluster limits waiting for all services to those of one cluster.
	cluster string
	// revision is what they must have beside being ready; empty is any.
	revision string
	timeout  time.Duration
}

func (w *waiting) flags(c *cobra.Command) {
	c.Flags().BoolVar(&w.wanted, "wait", false, "wait until the service is synced and healthy")
	c.Flags().DurationVar(&w.timeout, "timeout", 10*time.Minute, "how long to wait")
}

func waitCommand(a *command.App) *cobra.Command {
	var wait waiting
	var all bool
	c := &cobra.Command{
		Use: "wait [CLUSTER/NAME…]", Short: "Wait until services are synced and healthy at their desired revision",
		Long: `Wait until services are synced and healthy at their desired revision.

The exit code is 0 once all are. It is 3 as soon as waiting cannot make one ready: it
does not render, it is refused or held, or its repository rejects the credentials. The
message then has the next step. It is 1 when the time is over or the hub cannot be
reached. --wait of other commands has the same exit codes.`,
		Example: `  axle services wait edge-1/web edge-2/web --timeout 5m
  axle services wait --all --revision 3f2a9c1`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			var refs []*hubv1.ServiceRef
			for _, argument := range args {
				ref, err := command.ServiceRef(argument, wait.cluster)
				if err != nil {
					return err
				}
				refs = append(refs, ref)
			}
			if len(refs) == 0 && !all {
				return exitcode.Usagef("name services, or add --all")
			}
			return waitFor(c.Context(), a, client, refs, wait)
		}),
	}
	c.Flags().StringVar(&wait.cluster, "cluster", "", "cluster of the arguments; with --all, only services of this cluster")
	c.Flags().BoolVar(&all, "all", false, "all services")
	c.Flags().StringVar(&wait.revision, "revision", "", "also require this revision, or one that starts with it")
	c.Flags().DurationVar(&wait.timeout, "timeout", 10*time.Minute, "how long to wait")
	return c
}

// waitFor waits until each service is ready, all of them without refs. It fails
// with what is still missing.
func waitFor(ctx context.Context, a *command.App, client *sdk.Client, refs []*hubv1.ServiceRef, w waiting) error {
	p := a.Begin("waiting for services")
	defer p.End()
	var lacking []string
	var watch final.Watch
	count := 0
	ok, err := a.PollUntil(ctx, w.timeout, func(ctx context.Context) (bool, error) {
		services, err := getServices(ctx, client, refs, w.cluster)
		if err != nil {
			return false, err
		}
		lacking, count = lacking[:0], len(services)
		for _, s := range services {
			v := newServiceView(a, s)
			why, never := v.lacks(w.revision), ""
			if w.stopped {
				why = v.acts()
				if !v.Paused {
					never = fmt.Sprintf("somebody resumed it; axle services pause %s/%s pauses it again", s.GetCluster(), s.GetName())
				}
			} else if why != "" {
				never = watch.Why(s, time.Now())
			}
			switch {
			case never != "":
				return false, exitcode.With(errcode.New(errcode.Unprocessable, "waiting cannot make %s/%s %s: %s", s.GetCluster(), s.GetName(), w.state(), never), exitcode.Never)
			case why != "":
				lacking = append(lacking, fmt.Sprintf("%s/%s: %s", s.GetCluster(), s.GetName(), why))
			}
		}
		if len(lacking) > 0 {
			p.Say("%d of %d %s; %s", count-len(lacking), count, w.state(), output.OneLine(lacking[0]))
		}
		return len(lacking) == 0, nil
	})
	if err != nil {
		return err
	}
	if !ok {
		return errcode.New(errcode.Unavailable, "not %s within %s:\n  %s", w.state(), w.timeout, strings.Join(lacking, "\n  "))
	}
	done := "synced and healthy"
	if w.stopped {
		done = "paused and no longer acted on"
	}
	_, err = fmt.Fprintf(a.Err, "%s %s\n", output.Count(count, "service"), done)
	return err
}

// state is what is waited for, in a word.
func (w *waiting) state() string {
	if w.stopped {
		return "stopped"
	}
	return "ready"
}

func getServices(ctx context.Context, client *sdk.Client, refs []*hubv1.ServiceRef, cluster string) ([]*hubv1.Service, error) {
	if len(refs) == 0 {
		return command.ListServices(ctx, client, &hubv1.ListServicesRequest{Cluster: cluster, Brief: true})
	}
	var services []*hubv1.Service
	for _, ref := range refs {
		s, err := client.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
		if err != nil {
			return nil, err
		}
		services = append(services, s.Msg)
	}
	return services, nil
}

// acts says why an agent may still act on a paused service; it is empty if none does.
func (v serviceView) acts() string {
	switch {
	case v.Sync != "Paused":
		return "it is " + v.Sync
	case v.Reason == "Stopping" && v.Freshness == "Stale":
		return "its cluster has not polled since " + command.Ago(v.PolledAge)
	case v.Reason == "Stopping":
		return "its agent has not reported that it stopped"
	}
	return ""
}

// lacks says why a service is not ready; it is empty if the service is ready.
// An outdated report of an agent does not count.
func (v serviceView) lacks(revision string) string {
	switch {
	case revision != "" && !strings.HasPrefix(v.AppliedRevision, revision):
		return fmt.Sprintf("applied %s, not %s", cmp.Or(command.Short(v.AppliedRevision), "nothing"), revision)
	case v.Sync != "Synced":
		return strings.TrimSpace(v.syncText() + " " + v.problem())
	case v.AppliedRevision != v.DesiredRevision && v.AppliedDigest != v.DesiredDigest:
		return fmt.Sprintf("applied %s, desired %s", command.Short(v.AppliedRevision), command.Short(v.DesiredRevision))
	case v.Health != "Healthy":
		return strings.TrimSpace(v.Health + " " + v.problem())
	case v.Freshness == "Stale":
		return "its cluster has not polled since " + command.Ago(v.PolledAge)
	}
	return ""
}

func rollbackCommand(a *command.App) *cobra.Command {
	var revision int64
	var reason string
	var wait waiting
	selected := &selector{verb: "rollback", done: "pinned"}
	c := &cobra.Command{
		Use: "rollback CLUSTER/NAME", Short: "Go back to an earlier revision and stay there",
		Long: `Go back to an earlier revision: its commit and its settings. The service is pinned
to it and does not follow its branch until axle services resume.`,
		Example: "  axle services rollback edge-1/web --revision 12 --wait\n  axle services rollback web --cluster tier=edge",
		Args:    selected.args(command.Exactly(1)),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) (err error) {
			var refs []*hubv1.ServiceRef
			one := func(ctx context.Context, ref *hubv1.ServiceRef) error {
				s, err := client.Services.Rollback(ctx, connect.NewRequest(&hubv1.RollbackServiceRequest{Ref: ref, Revision: revision, Reason: reason}))
				if err == nil && !selected.selects(args) {
					fmt.Fprintf(a.Err, "%s is pinned to revision %d (%s); to follow its branch again: axle services resume %s\n", args[0], s.Msg.GetPinnedRevision(), command.Short(s.Msg.GetDesiredRevision()), args[0])
				}
				return err
			}
			switch {
			case !selected.selects(args):
				selected.done = "" // one says it
				refs, err = selected.each(c.Context(), a, args, one)
			case revision != 0:
				return exitcode.Usagef("--revision is a number of one service; without it, each goes back to its revision before")
			default:
				refs, err = selected.run(c.Context(), a, client, args, one)
			}
			if err == nil && wait.wanted && len(refs) > 0 {
				return waitFor(c.Context(), a, client, refs, wait)
			}
			return err
		}),
	}
	selected.flags(c)
	c.Flags().Int64Var(&revision, "revision", 0, "revision to go back to (default: the one before)")
	c.Flags().StringVar(&reason, "reason", "", reasonHelp)
	wait.flags(c)
	return c
}

type revisionView struct {
	Number         int64  `json:"number"`
	Current        bool   `json:"current"`
	SourceRevision string `json:"sourceRevision"`
	Digest         string `json:"digest"`
	Cause          string `json:"cause"`
	By             string `json:"by"`
	Reason         string `json:"reason"`
	Message        string `json:"message"`
	Author         string `json:"author"`
	CommittedAt    string `json:"committedAt"`
	CreatedAt      string `json:"createdAt"`
	Age            string `json:"age"`
}

func revisionsCommand(a *command.App) *cobra.Command {
	var cluster string
	c := &cobra.Command{
		Use: "revisions CLUSTER/NAME", Short: "List the last 20 revisions, newest first", Args: command.Exactly(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, ref, err := a.Service(args[0], cluster)
			if err != nil {
				return err
			}
			list, err := client.Services.ListRevisions(c.Context(), connect.NewRequest(&hubv1.ListRevisionsRequest{Ref: ref}))
			if err != nil {
				return err
			}
			views := []revisionView{}
			for _, r := range list.Msg.GetRevisions() {
				views = append(views, revisionView{r.GetNumber(), r.GetCurrent(), r.GetSourceRevision(), r.GetDigest(), r.GetCause(), r.GetBy(), r.GetReason(), r.GetMessage(), r.GetAuthor(), fields.Stamp(r.GetCommittedAt()), fields.Stamp(r.GetCreatedAt()), a.Age(r.GetCreatedAt())})
			}
			return command.PrintList(a, views, func(v revisionView) string { return fmt.Sprint(v.Number) },
				command.Col("REVISION", func(v revisionView) string {
					if v.Current {
						return fmt.Sprintf("%d *", v.Number)
					}
					return fmt.Sprint(v.Number)
				}),
				command.Col("COMMIT", func(v revisionView) string { return command.Short(v.SourceRevision) }),
				command.Col("CAUSE", func(v revisionView) string { return v.Cause }),
				command.Col("BY", func(v revisionView) string { return cmp.Or(v.By, v.Author) }),
				command.Col("AGE", func(v revisionView) string { return v.Age }),
				command.Col("MESSAGE", func(v revisionView) string { return strings.SplitN(v.Message, "\n", 2)[0] }),
			)
		},
	}
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, if the argument is only NAME")
	return c
}

func deleteCommand(a *command.App) *cobra.Command {
	var cluster string
	var detach, dryRun bool
	var wait time.Duration
	management := command.Management()
	c := &cobra.Command{
		Use: "delete CLUSTER/NAME…", Short: "Delete services and their objects, and wait until they are gone",
		Long: `Delete services. Their agents remove the objects and report it; until then a
service is shown as Deleting. With --detach, the objects stay on the cluster. With
--dry-run, the command lists the objects that the agents reported and deletes nothing.`,
		Args: serviceArgs(&cluster),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			one := func(do func(ref *hubv1.ServiceRef) error) error {
				return command.Each(args, func(name string) error {
					ref, err := command.ServiceRef(name, cluster)
					if err != nil {
						return err
					}
					return do(ref)
				})
			}
			if dryRun {
				return one(func(ref *hubv1.ServiceRef) error { return wouldDelete(c.Context(), a, client, ref, detach) })
			}
			err := one(func(ref *hubv1.ServiceRef) error {
				_, err := client.Services.Delete(c.Context(), connect.NewRequest(&hubv1.DeleteServiceRequest{Ref: ref, Detach: detach, Management: management}))
				if err == nil && wait == 0 {
					_, err = fmt.Fprintf(a.Err, "service %s/%s is being deleted\n", ref.GetCluster(), ref.GetName())
				}
				return err
			})
			if err != nil || wait == 0 {
				return err
			}
			return one(func(ref *hubv1.ServiceRef) error { return awaitGone(c.Context(), a, client, ref, wait) })
		}),
	}
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, if the arguments are only NAMEs")
	c.Flags().BoolVar(&detach, "detach", false, "leave the objects on the cluster")
	command.TakeOverFlag(c, management)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be deleted, without deleting it")
	c.Flags().DurationVar(&wait, "timeout", 5*time.Minute, "how long to wait; 0 does not wait")
	return c
}

// awaitGone waits until a service is deleted.
func awaitGone(ctx context.Context, a *command.App, client *sdk.Client, ref *hubv1.ServiceRef, wait time.Duration) error {
	name := ref.GetCluster() + "/" + ref.GetName()
	p := a.Begin("waiting for the agent to remove %s", name)
	defer p.End()
	gone, err := a.PollUntil(ctx, wait, func(ctx context.Context) (bool, error) {
		_, err := client.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
		if sdk.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		return err
	}
	if !gone {
		return errcode.New(errcode.Unavailable, "service %s is still being deleted after %s; axle services get %s shows what it waits for", name, wait, name)
	}
	_, err = fmt.Fprintf(a.Err, "service %s deleted\n", name)
	return err
}

// wouldDelete lists the objects that are deleted with a service.
func wouldDelete(ctx context.Context, a *command.App, client *sdk.Client, ref *hubv1.ServiceRef, detach bool) error {
	s, err := client.Services.Get(ctx, connect.NewRequest(&hubv1.GetServiceRequest{Ref: ref}))
	if err != nil {
		return err
	}
	view := newServiceView(a, s.Msg)
	objects, total := view.Components, max(int(view.Objects.Total), len(view.Components))
	if detach {
		objects, total = nil, 0
	}
	fmt.Fprintf(a.Err, "service %s/%s would be deleted with %s on the cluster (dry run, nothing is deleted)\n", ref.GetCluster(), ref.GetName(), output.Count(total, "object"))
	if total > len(objects) {
		fmt.Fprintf(a.Err, "only %d of them are listed: for a large service the agent names only the least healthy objects\n", len(objects))
	}
	if len(objects) == 0 && output.Human(a.Output) {
		return nil
	}
	return command.PrintList(a, objects, func(c componentView) string { return c.Kind + "/" + c.Name },
		command.Col("KIND", func(c componentView) string { return c.Kind }),
		command.Col("NAMESPACE", func(c componentView) string { return c.Namespace }),
		command.Col("NAME", func(c componentView) string { return c.Name }),
		command.Col("HEALTH", func(c componentView) string { return c.Health }),
	)
}
