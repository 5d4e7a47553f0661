// Package notifications is the command axle notifications: which events go where, and the
// notifications of a person. cli puts it into the tree of commands.
package notifications

import (
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/sdk"
)

// view is a notification as -o json and -o yaml show it.
type view struct {
	ID       string `json:"id"`
	Sink     string `json:"sink"`
	Priority string `json:"priority"`
	Event    string `json:"event"`
	Title    string `json:"title"`
	Text     string `json:"text"`
	Read     bool   `json:"read"`
	At       string `json:"at"`
	Age      string `json:"age"`
}

// Command returns the command axle notifications.
func Command(a *command.App) *cobra.Command {
	return command.Noun("notifications", "Manage notification sinks and routers, and show your notifications", []string{"notification", "notify"},
		list(a), read(a), events(a), sinks(a), routers(a))
}

func list(a *command.App) *cobra.Command {
	request := &hubv1.ListNotificationsRequest{}
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List your notifications, newest first", Args: command.NoArgs,
		Long: `List the notifications of sinks of the type PLURAL that name you or a group of yours,
newest first. Notifications about objects that you can no longer read are left out.`,
		Example: "  axle notifications list --unread\n  axle notifications list -o json | jq -r '.[].text'",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			answer, err := client.Notifications.List(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			views := []view{}
			for _, n := range answer.Msg.GetNotifications() {
				views = append(views, view{
					ID: n.GetId(), Sink: n.GetSink(), Priority: n.GetPriority(), Event: n.GetEvent(), Title: n.GetTitle(), Text: n.GetText(), Read: n.GetRead(),
					At: fields.Stamp(n.GetAt()), Age: a.Age(n.GetAt()),
				})
			}
			return command.PrintList(a, views, func(v view) string { return v.ID },
				command.Ages("AGE", func(v view) string { return v.Age }),
				command.Col("READ", func(v view) string { return map[bool]string{true: "yes", false: "no"}[v.Read] }),
				command.Col("PRIORITY", func(v view) string { return v.Priority }),
				command.Col("NOTIFICATION", func(v view) string { return v.Title }),
				command.Wide("SINK", func(v view) string { return v.Sink }),
				command.Wide("TEXT", func(v view) string { return strings.ReplaceAll(v.Text, "\n", "; ") }),
			)
		}),
	}
	c.Flags().BoolVar(&request.Unread, "unread", false, "only those that are not read")
	c.Flags().Int32Var(&request.Limit, "limit", 50, "how many at most, up to 500")
	return c
}

func read(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "read", Short: "Mark all your notifications as read", Args: command.NoArgs,
		Example: "  axle notifications read",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			answer, err := client.Notifications.List(c.Context(), connect.NewRequest(&hubv1.ListNotificationsRequest{Limit: 500, Unread: true}))
			if err != nil {
				return err
			}
			all := answer.Msg.GetNotifications()
			if len(all) > 0 { // what arrives meanwhile stays unread
				if _, err := client.Notifications.MarkRead(c.Context(), connect.NewRequest(&hubv1.MarkNotificationsReadRequest{UpTo: all[0].GetAt()})); err != nil {
					return err
				}
			}
			fmt.Fprintf(a.Err, "%d notifications marked as read\n", len(all))
			return nil
		}),
	}
}

// eventView is an event that routers can name.
type eventView struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Kinds       []string `json:"kinds"`
}

func events(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "events", Short: "List the events that routers can name", Args: command.NoArgs,
		Example: "  axle notifications events",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			answer, err := client.NotificationRouters.ListEvents(c.Context(), connect.NewRequest(&hubv1.ListNotificationEventsRequest{}))
			if err != nil {
				return err
			}
			views := []eventView{}
			for _, e := range answer.Msg.GetEvents() {
				views = append(views, eventView{e.GetName(), e.GetDescription(), append([]string{}, e.GetKinds()...)})
			}
			return command.PrintList(a, views, func(v eventView) string { return v.Name },
				command.Col("EVENT", func(v eventView) string { return v.Name }),
				command.Col("WHEN", func(v eventView) string { return v.Description }),
				command.Wide("KINDS", func(v eventView) string { return strings.Join(v.Kinds, ", ") }),
			)
		}),
	}
}
