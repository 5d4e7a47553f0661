package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

// eventsEvery is how often the hub is asked while events are followed.
const eventsEvery = 1500 * time.Millisecond

// maxEvents is the most that the hub returns at once.
const maxEvents = 1000

type eventView struct {
	ID      int64  `json:"id"`
	At      string `json:"at"`
	Age     string `json:"age"`
	Kind    string `json:"kind"`
	Object  string `json:"object"`
	By      string `json:"by"`
	Message string `json:"message"`
}

func eventColumns() []column[eventView] {
	return []column[eventView]{
		col("TIME", func(v eventView) string { return v.At }),
		wide("AGE", func(v eventView) string { return v.Age }),
		wide("ID", func(v eventView) string { return fmt.Sprint(v.ID) }),
		col("EVENT", func(v eventView) string { return v.Kind }),
		col("OBJECT", func(v eventView) string { return v.Object }),
		col("BY", func(v eventView) string { return v.By }),
		col("MESSAGE", func(v eventView) string { return v.Message }),
	}
}

func (a *app) events() *cobra.Command {
	request := &hubv1.ListEventsRequest{}
	var keepOn bool
	var since string
	c := &cobra.Command{
		Use: "events", Short: "List events, newest first", Args: noArgs,
		Long: `List events, newest first. With --follow, they are printed oldest first, and new
ones as they come, until the command is interrupted. The hub keeps the newest events
only; --since and --follow read at most the newest 1000 before the first line.`,
		Example: "  axle events --cluster edge-1 --since 1h\n  axle events --service edge-1/web --follow",
		PreRunE: func(*cobra.Command, []string) error {
			if request.GetService() == "" {
				return nil
			}
			ref, err := serviceRef(request.GetService(), request.GetCluster())
			if err != nil {
				return err
			}
			request.Cluster, request.Service = ref.GetCluster(), ref.GetName()
			return nil
		},
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			from, err := a.moment(since)
			if err != nil {
				return err
			}
			if from != 0 && request.GetLimit() == 0 {
				request.Limit = maxEvents
			}
			views, err := eventsSince(c.Context(), a, client, request, from)
			if err != nil {
				return err
			}
			if keepOn {
				return followEvents(c.Context(), a, client, request, views)
			}
			return printList(a, views, func(v eventView) string { return fmt.Sprint(v.ID) }, eventColumns()...)
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
func eventsSince(ctx context.Context, a *app, client *sdk.Client, request *hubv1.ListEventsRequest, from int64) ([]eventView, error) {
	list, err := client.Events.List(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	views := []eventView{}
	for _, e := range list.Msg.GetEvents() {
		request.After = max(request.GetAfter(), e.GetId())
		if e.GetAt() >= from {
			views = append(views, eventView{e.GetId(), stamp(e.GetAt()), a.age(e.GetAt()), e.GetKind(), e.GetObject(), e.GetBy(), e.GetMessage()})
		}
	}
	if from != 0 && len(views) == int(request.GetLimit()) {
		fmt.Fprintf(a.Err, "only the newest %s are shown; there may be more since then\n", output.Count(len(views), "event"))
	}
	return views, nil
}

// followEvents prints events oldest first, and those that come, until it is
// interrupted.
func followEvents(ctx context.Context, a *app, client *sdk.Client, request *hubv1.ListEventsRequest, views []eventView) error {
	request.Limit = maxEvents
	return output.Watch(ctx, a.printer(), output.Watched[eventView]{
		Every: eventsEvery,
		Read: func(ctx context.Context) ([]eventView, error) {
			now := views
			views = nil
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
		Again:   again,
		Name:    func(v eventView) string { return fmt.Sprint(v.ID) },
		Columns: eventColumns(),
	})
}
