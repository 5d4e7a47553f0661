package command

import (
	"context"
	"fmt"
	"io"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk"
)

type riskView struct {
	Kind    string `json:"kind"`
	Object  string `json:"object"`
	Why     string `json:"why"`
	Command string `json:"command"`
	// AfterUpgrade is set where the command needs the hub of this version, and the one
	// that was asked is older.
	AfterUpgrade bool `json:"afterUpgrade,omitempty"`
}

// mostRisks is how many an older hub's list has at most, as that of a new one.
const mostRisks = 500

// PrintRisks lists what the hub has that is older than a rule that would refuse it. The
// list of a hub that is older than the call is computed of what its API returns; it is
// printed even where a later question fails.
func PrintRisks(ctx context.Context, a *App, client *sdk.Client) error {
	views, total, note := []riskView{}, 0, ""
	var broken error // of a list that is not whole
	r, err := client.Hub.AtRisk(ctx, connect.NewRequest(&hubv1.AtRiskRequest{}))
	switch {
	case connect.CodeOf(err) == connect.CodeUnimplemented:
		o := risksOfOlder(ctx, client)
		if broken = o.err; broken != nil && !o.answered {
			return broken
		}
		total = len(o.all)
		for _, v := range o.all[:min(total, mostRisks)] {
			views = append(views, riskView{v.Kind, v.Object, v.Why, v.Command, afterUpgrade(v)})
		}
		note = noteOfOlder(ctx, client, o)
	case err != nil:
		return err
	default:
		total = int(r.Msg.GetTotal())
		for _, v := range r.Msg.GetRisks() {
			views = append(views, riskView{Kind: v.GetKind(), Object: v.GetObject(), Why: v.GetWhy(), Command: v.GetCommand()})
		}
	}
	err = PrintList(a, views, func(v riskView) string { return v.Object },
		Col("OBJECT", func(v riskView) string { return v.Object }),
		Col("WHY", func(v riskView) string { return v.Why }),
		Col("COMMAND", func(v riskView) string { return v.Command }),
	)
	if left := total - len(views); err == nil && left > 0 {
		note = fmt.Sprintf("and %d more, which are listed once these are settled\n", left) + note
	}
	if err == nil {
		_, err = io.WriteString(a.Err, note)
	}
	if err == nil && broken != nil {
		err = fmt.Errorf("the list is not whole, run the command again: %w", broken)
	}
	return err
}

// noteOfOlder names the hub that a computed list is of, the commands that wait for the
// new one, and what the list cannot have.
func noteOfOlder(ctx context.Context, client *sdk.Client, o *older) string {
	hub := "The hub"
	if o.err == nil {
		s, err := client.Hub.Status(ctx, connect.NewRequest(&hubv1.HubStatusRequest{}))
		if err != nil {
			hub = fmt.Sprintf("The hub does not report its version (%v; try axle hub status), and", err)
		} else {
			hub = "The hub is " + s.Msg.GetVersion() + ", which"
		}
	}
	note := hub + " has no such list: this command computed it from what that hub's API returns. Everything in it keeps working after an upgrade.\n"
	waits := 0
	for _, r := range o.all {
		if afterUpgrade(r) {
			waits++
		}
	}
	if waits > 0 {
		note += fmt.Sprintf("%d of its commands need the new hub: those about tags, accounts, the hub's own cluster and global services (afterUpgrade in -o json). The others may be run before too.\n", waits)
	}
	for _, lack := range o.lacks {
		note += "Not in this list, since that hub has no call " + lack + ". axle hub at-risk has it after the upgrade.\n"
	}
	return note + unknowable + "\n"
}
