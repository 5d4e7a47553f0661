package cli

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

type sessionView struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Name        string `json:"name"`
	Source      string `json:"source"`
	Agent       string `json:"agent"`
	CreatedAt   string `json:"createdAt"`
	LastUsedAge string `json:"lastUsedAge"`
	ExpiresAt   string `json:"expiresAt"`
	Current     bool   `json:"current"`
}

func (a *app) sessions() *cobra.Command {
	var user string
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List open sessions of browsers and command lines", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			all, err := client.Logins.ListSessions(c.Context(), connect.NewRequest(&hubv1.ListSessionsRequest{User: user}))
			if err != nil {
				return err
			}
			views := []sessionView{}
			for _, s := range all.Msg.GetSessions() {
				views = append(views, sessionView{s.GetId(), s.GetKind(), s.GetName(), s.GetSource(), s.GetAgent(), stamp(s.GetCreatedAt()), a.age(s.GetLastUsedAt()), stamp(s.GetExpiresAt()), s.GetCurrent()})
			}
			return printList(a, views, func(v sessionView) string { return v.ID },
				column[sessionView]{"ID", func(v sessionView) string { return v.ID }},
				column[sessionView]{"KIND", func(v sessionView) string { return v.Kind }},
				column[sessionView]{"NAME", func(v sessionView) string { return v.Name }},
				column[sessionView]{"FROM", func(v sessionView) string { return v.Source }},
				column[sessionView]{"SINCE", func(v sessionView) string { return v.CreatedAt }},
				column[sessionView]{"LAST USED", func(v sessionView) string { return ago(v.LastUsedAge) }},
				column[sessionView]{"EXPIRES", func(v sessionView) string { return v.ExpiresAt }},
			)
		},
	}
	list.Flags().StringVar(&user, "user", "", "e-mail of somebody else (administrators)")
	var all bool
	var whose string
	end := &cobra.Command{
		Use: "end [ID…]", Short: "End sessions, within 5 s everywhere", Example: "  axle sessions end tok_abc\n  axle sessions end --all --user leaver@example.com",
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usagef("name sessions, or give --all")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			if all {
				ended, err := client.Logins.EndSessions(c.Context(), connect.NewRequest(&hubv1.EndSessionsRequest{User: whose}))
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Err, "%d sessions ended\n", ended.Msg.GetEnded())
				return err
			}
			for _, id := range args {
				if _, err := client.Logins.EndSession(c.Context(), connect.NewRequest(&hubv1.EndSessionRequest{Id: id})); err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
				fmt.Fprintf(a.Err, "session %s ended\n", id)
			}
			return nil
		},
	}
	end.Flags().BoolVar(&all, "all", false, "all of them")
	end.Flags().StringVar(&whose, "user", "", "e-mail of somebody else (administrators, with --all)")
	return noun("sessions", "Open logins of browsers and command lines", []string{"session"}, list, end)
}
