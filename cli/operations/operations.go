// Package operations is the command axle operations: actions on many services that
// the hub works off by itself, as the console starts them. cli puts it into the
// tree of commands; axle services acts on many services from the command line.
package operations

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

// view is an operation as -o json and -o yaml show it.
type view struct {
	ID        string       `json:"id"`
	Action    string       `json:"action"`
	State     string       `json:"state"`
	By        string       `json:"by"`
	Reason    string       `json:"reason"`
	Selection string       `json:"selection"`
	Total     int64        `json:"total"`
	Done      int64        `json:"done"`
	Failed    int64        `json:"failed"`
	CreatedAt string       `json:"createdAt"`
	Age       string       `json:"age"`
	EndedAt   string       `json:"endedAt"`
	Failures  []targetView `json:"failures"`
}

type targetView struct {
	Cluster string `json:"cluster"`
	Service string `json:"service"`
	Message string `json:"message"`
}

func newView(a *command.App, o *hubv1.Operation) view {
	return view{
		ID: o.GetId(), Action: o.GetAction(), State: o.GetState(), By: o.GetBy(), Reason: o.GetReason(), Selection: o.GetSelection(),
		Total: o.GetTotal(), Done: o.GetDone(), Failed: o.GetFailed(), CreatedAt: fields.Stamp(o.GetCreatedAt()), Age: a.Age(o.GetCreatedAt()),
		EndedAt: fields.Stamp(o.GetEndedAt()), Failures: []targetView{},
	}
}

// progress is how far it is, on one line.
func (v view) progress() string {
	return fmt.Sprintf("%d of %d done, %d failed", v.Done, v.Total, v.Failed)
}

func columns() []output.Column[view] {
	return []output.Column[view]{
		command.Col("ID", func(v view) string { return v.ID }),
		command.Col("ACTION", func(v view) string { return v.Action }),
		command.Col("STATE", func(v view) string { return v.State }),
		command.Col("PROGRESS", view.progress),
		command.Col("BY", func(v view) string { return v.By }),
		command.Col("STARTED", func(v view) string { return command.Ago(v.Age) }),
		command.Col("SELECTION", func(v view) string { return v.Selection }),
	}
}

// Command returns the command axle operations.
func Command(a *command.App) *cobra.Command {
	return command.Noun("operations", "Follow actions on many services, which the hub works off", []string{"operation", "op"},
		listCommand(a), getCommand(a), cancelCommand(a), retryCommand(a))
}

func listCommand(a *command.App) *cobra.Command {
	var limit int32
	c := &cobra.Command{
		Use: "list", Short: "List operations of the last 30 days, newest first", Args: command.Exactly(0),
		Long:    "List operations of the last 30 days, newest first: your own, or everybody's if you may read the whole hub.",
		Example: "  axle operations list",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			list, err := client.Operations.List(c.Context(), connect.NewRequest(&hubv1.ListOperationsRequest{Limit: limit}))
			if err != nil {
				return err
			}
			views := []view{}
			for _, o := range list.Msg.GetOperations() {
				views = append(views, newView(a, o))
			}
			return command.PrintList(a, views, func(v view) string { return v.ID }, columns()...)
		}),
	}
	c.Flags().Int32Var(&limit, "limit", 50, "how many, at most 200")
	return c
}

func getCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "get ID…", Short: "Show how far operations are, and what failed", Args: command.AtLeast(1),
		Example: "  axle operations get op_x7k2",
		RunE: command.Shows(a, func(ctx context.Context, client *sdk.Client, id string) (*connect.Response[view], error) {
			o, err := client.Operations.Get(ctx, connect.NewRequest(&hubv1.GetOperationRequest{Id: id}))
			if err != nil {
				return nil, err
			}
			v := newView(a, o.Msg)
			failed, err := client.Operations.ListTargets(ctx, connect.NewRequest(&hubv1.ListOperationTargetsRequest{Id: id, FailedOnly: true}))
			if err != nil {
				return nil, err
			}
			for _, t := range failed.Msg.GetTargets() {
				v.Failures = append(v.Failures, targetView{t.GetCluster(), t.GetService(), t.GetMessage()})
			}
			return connect.NewResponse(&v), nil
		}, func(a *command.App, v *view) error { return show(a, *v) }, func(a *command.App, all []*view) error {
			views := make([]view, len(all))
			for i, v := range all {
				views[i] = *v
			}
			return command.PrintList(a, views, func(v view) string { return v.ID }, columns()...)
		}),
	}
}

func show(a *command.App, v view) error {
	return command.PrintOne(a, v, func(v view) string { return v.ID },
		command.Col("Operation", func(v view) string { return v.ID }),
		command.Col("Action", func(v view) string { return v.Action + " " + v.Selection }),
		command.Col("State", func(v view) string { return v.State }),
		command.Col("Progress", view.progress),
		command.Col("Reason", func(v view) string { return v.Reason }),
		command.Col("Failed", func(v view) string {
			lines := ""
			for _, t := range v.Failures {
				lines += t.Cluster + "/" + t.Service + ": " + t.Message + "\n"
			}
			return lines
		}),
		command.Col("Started", func(v view) string { return fmt.Sprintf("by %s %s", v.By, command.Ago(v.Age)) }),
	)
}

func cancelCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Cancel the remaining targets of an operation", Args: command.Exactly(1),
		Long:    "Cancel the remaining targets of an operation. Completed targets are not undone.",
		Example: "  axle operations cancel op_x7k2",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			o, err := client.Operations.Cancel(c.Context(), connect.NewRequest(&hubv1.CancelOperationRequest{Id: args[0]}))
			if err != nil {
				return err
			}
			return show(a, newView(a, o.Msg))
		}),
	}
}

func retryCommand(a *command.App) *cobra.Command {
	var preview bool
	var reason string
	c := &cobra.Command{
		Use: "retry ID", Short: "Do an operation again for the services that failed", Args: command.Exactly(1),
		Example: "  axle operations retry op_x7k2",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			before, err := client.Operations.Get(c.Context(), connect.NewRequest(&hubv1.GetOperationRequest{Id: args[0]}))
			if err != nil {
				return err
			}
			if reason == "" {
				reason = before.Msg.GetReason()
			}
			o, err := client.Operations.Start(c.Context(), connect.NewRequest(&hubv1.StartOperationRequest{
				Action: before.Msg.GetAction(), FailedOf: args[0], Reason: reason, DryRun: preview,
			}))
			if err != nil {
				return err
			}
			return show(a, newView(a, o.Msg))
		}),
	}
	c.Flags().BoolVar(&preview, "dry-run", false, "show how many services it would be, and do nothing")
	c.Flags().StringVar(&reason, "reason", "", "why, for the events and the audit log (default: as before)")
	return c
}
