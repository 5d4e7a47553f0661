package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

// eventsEvery is how often the hub is asked while events are followed.
const eventsEvery = 1500 * time.Millisecond

// maxEvents is the most that the hub returns at once.
const maxEvents = 1000

func eventID(e *hubv1.Event) string { return fmt.Sprint(e.GetId()) }

func eventColumns(a *command.App) []command.Column[*hubv1.Event] {
	return []command.Column[*hubv1.Event]{
		command.Col("TIME", func(e *hubv1.Event) string { return fields.Stamp(e.GetAt()) }),
		command.Wide("AGE", func(e *hubv1.Event) string { return a.Age(e.GetAt()) }),
		command.Wide("ID", eventID),
		command.Col("EVENT", (*hubv1.Event).GetKind),
		command.Col("OBJECT", (*hubv1.Event).GetObject),
		command.Col("BY", (*hubv1.Event).GetBy),
		command.Col("MESSAGE", (*hubv1.Event).GetMessage),
	}
}

// Events returns the command axle events.
func Events(a *command.App) *cobra.Command {
	request := &hubv1.ListEventsRequest{}
	var keepOn bool
	var since string
	c := &cobra.Command{
		Use: "events", Short: "List events, newest first", Args: command.NoArgs,
		Long: `List events, newest first. With --follow, they are printed oldest first, and new
ones as they come, until the command is interrupted. The hub keeps the newest events
only; --since and --follow read at most the newest 1000 before the first line.`,
		Example: "  axle events --cluster edge-1 --since 1h\n  axle events --service edge-1/web --follow",
		PreRunE: func(*cobra.Command, []string) error {
			if request.GetService() == "" {
				return nil
			}
			ref, err := command.ServiceRef(request.GetService(), request.GetCluster())
			if err != nil {
				return err
			}
			request.Cluster, request.Service = ref.GetCluster(), ref.GetName()
			return nil
		},
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			from, err := moment(a, since)
			if err != nil {
				return err
			}
			if from != 0 && request.GetLimit() == 0 {
				request.Limit = maxEvents
			}
			found, err := eventsSince(c.Context(), a, client, request, from)
			if err != nil {
				return err
			}
			if keepOn {
				return followEvents(c.Context(), a, client, request, found)
			}
			return command.PrintList(a, found, eventID, eventColumns(a)...)
		}),
	}
	c.Flags().StringVar(&request.Cluster, "cluster", "", "only events of this cluster")
	c.Flags().StringVar(&request.Service, "service", "", "only events of this service: CLUSTER/NAME, or NAME with --cluster")
	c.Flags().StringVar(&since, "since", "", "only events since a duration ago such as 1h, or a time such as 2026-01-31T15:04:05Z")
	c.Flags().Int32Var(&request.Limit, "limit", 0, "maximum number of events (default: 100, with --since 1000; at most 1000)")
	c.Flags().BoolVarP(&keepOn, "follow", "f", false, "print events oldest first, and keep printing new ones")
	return c
}

// eventsSince returns the newest events since a time, newest first. The request
// then asks for what comes after them.
func eventsSince(ctx context.Context, a *command.App, client *sdk.Client, request *hubv1.ListEventsRequest, from int64) ([]*hubv1.Event, error) {
	list, err := client.Events.List(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	found := []*hubv1.Event{}
	for _, e := range list.Msg.GetEvents() {
		request.After = max(request.GetAfter(), e.GetId())
		if e.GetAt() >= from {
			found = append(found, e)
		}
	}
	if from != 0 && len(found) == int(request.GetLimit()) {
		fmt.Fprintf(a.Err, "only the newest %s are shown; there may be more since then\n", output.Count(len(found), "event"))
	}
	return found, nil
}

// followEvents prints events oldest first, and those that come, until it is
// interrupted.
func followEvents(ctx context.Context, a *command.App, client *sdk.Client, request *hubv1.ListEventsRequest, found []*hubv1.Event) error {
	request.Limit = maxEvents
	return output.Watch(ctx, a.Printer(), output.Watched[*hubv1.Event]{
		Every: eventsEvery,
		Read: func(ctx context.Context) ([]*hubv1.Event, error) {
			now := found
			found = nil
			if now == nil {
				var err error
				if now, err = eventsSince(ctx, a, client, request, 0); err != nil {
					return nil, err
				}
			}
			slices.Reverse(now)
			return now, nil
		},
		Stream:  true,
		Again:   command.Transient,
		Name:    eventID,
		Columns: eventColumns(a),
	})
}
