package diff

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/diffview"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/plan"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/sdk"
)

// The exit codes of kubectl diff.
const (
	exitDiffers = 1
	exitNoDiff  = 2
)

// files are the flags of a diff of manifests.
type files struct {
	plan.Options
	live      bool
	liveLimit int
	timeout   time.Duration
}

// Command adds a diff of manifests to refs, the command that compares a ref.
func Command(a *command.App, refs *cobra.Command, maker plan.Maker, asker func(*sdk.Client) diffview.Asker) *cobra.Command {
	var f files
	c, byRef := refs, refs.RunE
	c.Use = "diff {-f FILE|DIR | --repo NAME --ref REF}"
	c.Short = "Show what manifests would change on the hub, or a ref on all clusters"
	c.Long = `Show what axle apply of the same files would change on the hub: the objects that would
be created, updated field by field, deleted by --prune, and refused, with the reason.
Nothing is written. It is the dry run of axle apply. Values of secrets are not shown.

With --live, the services that would follow another ref are also compared with their
clusters, including those of global services. Objects that a preview cannot compare are
listed.

` + c.Long + `

With -f, the exit code is 2 if an object would be refused.`
	c.Example = `  axle diff -f fleet/
  axle diff -f fleet/ --set fleet --prune --live
  axle diff -f fleet/ -o json | jq '.objects[] | select(.action == "update") | .fields'
` + c.Example
	flagvalue.PathsP(c.Flags(), &f.Files, "filename", "f", "files, folders, or - for standard input")
	c.Flags().StringVar(&f.Set, "set", "", "with -f: name of the set that manages what the files declare")
	c.Flags().BoolVar(&f.Prune, "prune", false, "with -f and --set: also show what the prune would delete")
	c.Flags().BoolVar(&f.TakeOver, "take-over", false, "with -f: also change what others manage")
	c.Flags().BoolVar(&f.SkipOthers, "skip-other-kinds", false, "with -f: leave out, and list, objects that are not for the hub")
	c.Flags().BoolVar(&f.live, "live", false, "with -f: also compare with the clusters")
	c.Flags().IntVar(&f.liveLimit, "live-limit", 100, "with --live: how many services are compared at most")
	for _, other := range []string{"repo", "ref", "base", "cluster"} {
		c.MarkFlagsMutuallyExclusive("filename", other)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(f.Files) == 0 {
			for _, flag := range []string{"set", "prune", "take-over", "skip-other-kinds", "live", "live-limit"} {
				if c.Flags().Changed(flag) {
					return exitcode.Usagef("--%s is for manifests: name them with -f FILE|DIR|-", flag)
				}
			}
			return byRef(c, args)
		}
		var err error
		if f.timeout, err = c.Flags().GetDuration("timeout"); err != nil {
			return err
		}
		err = f.run(c.Context(), a, maker, asker)
		if err != nil && !exitcode.Has(err) {
			err = exitcode.With(err, exitNoDiff)
		}
		return err
	}
	return c
}

func (f files) run(ctx context.Context, a *command.App, maker plan.Maker, asker func(*sdk.Client) diffview.Asker) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	p, err := maker(ctx, f.Options)
	if err != nil {
		return err
	}
	if f.live {
		client, err := a.Client()
		if err != nil {
			return err
		}
		l := live{app: a, client: client, ask: asker(client), limit: f.liveLimit}
		if err := l.compare(ctx, &p); err != nil {
			return err
		}
	}
	if !output.Human(a.Output) {
		err = command.PrintOne(a, p, func(plan.Plan) string { return "" })
	} else {
		p.Write(output.Raw(a.Out), output.Colourful(a.Out, a.Getenv))
	}
	switch {
	case err != nil || p.Failed():
		return exitcode.With(err, exitNoDiff)
	case p.Differs():
		return exitcode.With(nil, exitDiffers)
	}
	return nil
}
