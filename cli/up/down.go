package up

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/confirm"
	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeapply"
)

// remover is one run of axle down.
type remover struct {
	builder
	confirm string
	// discard is true if the repository in the cluster goes whatever it has.
	discard bool

	// What the preflight found.
	release install.Found
	// services and rest are the custom resources that go, those of services first.
	services, rest []*unstructured.Unstructured
	// kept are services of the management cluster that nothing here declares.
	kept []string
}

// Down returns the command axle down.
func Down(a *command.App, run install.Runner) *cobra.Command {
	r := &remover{builder: builder{app: a, run: run}}
	c := &cobra.Command{
		Use:   "down",
		Short: "Remove what axle up made, but the repository and the cluster",
		Long: `Remove the fleet that the repository in this folder declares, and then the control
plane: stop following the repository, delete the services with what they run, delete
the other declarations, disconnect the management cluster, and uninstall the hub and
its operator with all data of the hub. Each step waits until it is true, because the
operator must be there to let go of what was declared.

The repository and the cluster stay. A repository on the Git server of the cluster goes
last, and while it has commits that were pushed nowhere else, nothing goes, unless
--delete-repository is given. Objects that the repository does not declare stay: those
of a service that somebody created at the hub are left where they are.

While other clusters are connected, or a service is protected, it refuses and names
each with the command. It asks for the name of the repository; --confirm gives it. A
run that was interrupted goes on when the same command is run again.`,
		Example: `  axle down --dry-run
  axle down
  axle down --dir ~/fleet --confirm fleet`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return r.down(c.Context()) },
	}
	flags := c.Flags()
	flags.StringVar(&r.dir, "dir", ".", "folder of the repository")
	flags.StringVar(&r.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster (default: $KUBECONFIG or ~/.kube/config)")
	flags.StringVar(&r.kubeContext, "kube-context", "", "context in the kubeconfig")
	flags.StringVar(&r.confirm, "confirm", "", "name of the repository at the hub, so that nothing is asked")
	flags.BoolVar(&r.discard, "delete-repository", false, "delete the repository on the Git server of the cluster even if it has commits that were pushed nowhere else")
	flags.DurationVar(&r.wait, "timeout", 10*time.Minute, "how long each step waits")
	flags.BoolVar(&r.dryRun, "dry-run", false, "check everything, print what would go and what would stay, and do nothing")
	return c
}

func (r *remover) steps() []step {
	return []step{
		{"preflight", "look at the folder, the cluster and the hub", r.preflight},
		{"stop", "stop following the repository", r.stop},
		{"services", "delete the services, with what they run", func(ctx context.Context) error { return r.remove(ctx, r.services) }},
		{"declarations", "delete everything else that was declared", func(ctx context.Context) error { return r.remove(ctx, r.rest) }},
		{"disconnect", "take the agent off the management cluster", r.disconnect},
		{"uninstall", "remove the hub and its operator, with the data", r.uninstall},
		{"git", "remove the Git server of the cluster, if the repository is there", r.unserve},
		{"namespace", "delete the namespace, if nothing of yours is in it", r.tidy},
	}
}

func (r *remover) down(ctx context.Context) error {
	defer r.close()
	steps := r.steps()
	if r.dryRun {
		if err := r.through(ctx, steps[:1], len(steps)); err != nil {
			return err
		}
		return r.plan(steps)
	}
	if err := r.through(ctx, steps, len(steps)); err != nil {
		return err
	}
	return r.left()
}

// preflight finds out what goes, and refuses what would be lost by mistake. It deletes
// nothing.
func (r *remover) preflight(ctx context.Context) error {
	if err := r.place(); err != nil {
		return err
	}
	have, err := readAnswers(r.dir)
	if err != nil {
		return err
	}
	if have == nil {
		return errcode.New(errcode.NotFound, "%s is not a repository that axle up made: go to the folder that has %s, or clone it; axle uninstall removes a control plane that was installed by itself", r.dir, answersFile)
	}
	r.answers = have
	if err := r.reach(); err != nil {
		return err
	}
	if r.release, err = install.Find(ctx, r.app, r.kubeconfig, r.kubeContext, release, namespace); err != nil {
		return err
	}
	if r.release.URL != "" && r.release.URL != strings.TrimSuffix(have.URL, "/") {
		return errcode.New(errcode.Conflict, "the cluster at %s has the control plane of %s, and %s in this folder is for %s: give the --kubeconfig of that cluster, or another --dir", r.kube.Config.Host, r.release.URL, answersFile, have.URL)
	}
	if err := r.find(ctx); err != nil {
		return err
	}
	if !r.asks() {
		if err := r.orphans(); err != nil {
			return err
		}
	} else if err := r.protected(ctx); err != nil {
		return err
	}
	if err := r.pushedElsewhere(ctx); err != nil || r.dryRun {
		return err
	}
	return r.ask(ctx)
}

// asks reports whether the hub is there to be asked.
func (r *remover) asks() bool { return r.release.URL != "" && !r.release.Going }

// ask wants the name of the repository, unless nothing is left to remove.
func (r *remover) ask(ctx context.Context) error {
	holds, err := r.holds(ctx)
	if err != nil || r.release.URL == "" && len(r.services)+len(r.rest) == 0 && !holds {
		return err
	}
	text := fmt.Sprintf("This deletes %s with what they run, and the control plane at %s WITH ALL DATA of the hub.", output.Count(len(r.services), "service"), r.answers.URL)
	if holds {
		text += " The Git server of the cluster goes too, with the repository."
	}
	return confirm.Name{
		Terminal: r.app.Interactive() && output.IsTerminal(r.app.Err), Given: r.confirm, In: r.app.In, Err: r.app.Err, Name: r.answers.Name,
		Text:    text,
		Command: confirm.Line(slices.Concat([]string{"axle", "down", "--dir", r.dir}, r.inCluster(), []string{"--confirm", r.answers.Name})),
	}.Ask()
}

// workloadKinds declare services; other declarations are used by them, and go later.
var workloadKinds = []string{"ServiceDeployment", "GlobalService", "ManagedNamespace"}

// find lists the custom resources that go: those that the folder declares, and those of the
// control plane's namespace and of the cluster that only its operator lets go of. Such
// ones elsewhere are somebody's, and would never be gone without an operator.
func (r *remover) find(ctx context.Context) error {
	declared, err := r.declared()
	if err != nil {
		return err
	}
	held, err := r.kube.Held(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var others []string
	r.services, r.rest = nil, nil
	for _, object := range slices.Concat(declared, held) {
		name := kubeapply.Name(object)
		if known[name] {
			continue
		}
		known[name] = true
		switch {
		case slices.Contains(held, object) && object.GetNamespace() != "" && object.GetNamespace() != namespace:
			others = append(others, fmt.Sprintf("%s -n %s delete %s.%s %s", r.kubectl(), object.GetNamespace(), strings.ToLower(object.GetKind()), object.GroupVersionKind().Group, object.GetName()))
		case slices.Contains(workloadKinds, object.GetKind()):
			r.services = append(r.services, object)
		default:
			r.rest = append(r.rest, object)
		}
	}
	if len(others) > 0 {
		return errcode.New(errcode.Conflict, "%s of other namespaces would never be gone without the operator; delete them first: %s", output.Count(len(others), "custom resource"), strings.Join(others, "; "))
	}
	return r.existing(ctx)
}

// protected refuses while something is there that nobody should lose by this command, with
// the command for each.
func (r *remover) protected(ctx context.Context) error {
	client, err := r.hub()
	if err != nil {
		return err
	}
	first, err := r.clusters(ctx, client)
	if err != nil {
		return err
	}
	more, err := r.protectedServices(ctx, client)
	if err != nil {
		return err
	}
	if first = append(first, more...); len(first) > 0 {
		return errcode.New(errcode.Conflict, "nothing was deleted, because these would be lost or left behind; first:\n  %s", strings.Join(first, "\n  "))
	}
	return nil
}

// plan prints what a run would do.
func (r *remover) plan(steps []step) error {
	out := r.app.Out
	for _, part := range []struct {
		title   string
		objects []*unstructured.Unstructured
	}{{"services, with what they run", r.services}, {"other declarations", r.rest}} {
		fmt.Fprintf(out, "%s:\n", part.title)
		for _, object := range part.objects {
			fmt.Fprintf(out, "  %s\n", kubeapply.Name(object))
		}
	}
	fmt.Fprintf(out, "steps, each of which does only what is not done yet:\n")
	for _, s := range steps[1:] {
		fmt.Fprintf(out, "  %-12s  %s\n", s.name, s.text)
	}
	r.stays(out)
	_, err := fmt.Fprintln(out, "nothing was done; run it without --dry-run")
	return err
}

// left says what stays.
func (r *remover) left() error {
	fmt.Fprintf(r.app.Out, "the fleet %s and its control plane are removed\n", r.answers.Name)
	r.stays(r.app.Out)
	return nil
}
