package diff_test

import (
	"context"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/diff"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/plan"
)

// The exit codes are those of kubectl diff.
func TestExitCodeSaysWhatTheFilesWouldChange(t *testing.T) {
	for action, want := range map[plan.Action]int{plan.Unchanged: 0, plan.Update: 1, plan.Refused: 2} {
		got := commandtest.Run(t, nil, func(a *command.App) *cobra.Command {
			refs := &cobra.Command{}
			refs.Flags().Duration("timeout", time.Minute, "")
			for _, flag := range []string{"repo", "ref", "base", "cluster"} {
				refs.Flags().String(flag, "", "")
			}
			return diff.Command(a, refs, func(context.Context, plan.Options) (p plan.Plan, err error) {
				p.Add(plan.Object{Kind: "Project", Name: "shop", Action: action})
				return p, nil
			}, nil)
		}, "-f", "fleet")
		if code := exitcode.Of(got.Error); code != want {
			t.Errorf("%s: exit code %d, want %d (%v)", action, code, want, got.Error)
		}
	}
}
