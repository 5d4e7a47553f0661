package access

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

// ApplicationCommands are the commands below applications that are about their clients.
func ApplicationCommands(a *command.App) []*cobra.Command {
	return []*cobra.Command{applicationsClient(a), applicationsTry(a), applicationsRotate(a), applicationsLogins(a), applicationsEnd(a)}
}

func applicationsLogins(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "logins [NAME]", Short: "List who logged in to an application last, or your own logins",
		Long: `List the people who logged in to an application last, at most 200, with the logins that have
not ended. Without a name, list the applications that you agreed to log in to.`,
		Example: "  axle applications logins grafana\n  axle applications logins",
		Args:    command.AtMost(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			call := func() (*connect.Response[hubv1.ListApplicationLoginsResponse], error) {
				if len(args) == 0 {
					return client.Logins.ListApplications(c.Context(), connect.NewRequest(&hubv1.ListMyApplicationsRequest{}))
				}
				return client.ApplicationClients.ListLogins(c.Context(), connect.NewRequest(&hubv1.ListApplicationLoginsRequest{Name: args[0]}))
			}
			all, err := call()
			if err != nil {
				return err
			}
			return command.PrintList(a, all.Msg.GetLogins(), (*hubv1.ApplicationLogin).GetUser,
				command.Col("APPLICATION", (*hubv1.ApplicationLogin).GetApplication),
				command.Col("CLIENT ID", (*hubv1.ApplicationLogin).GetClientId),
				command.Col("USER", (*hubv1.ApplicationLogin).GetUser),
				command.Col("LAST LOGIN", func(l *hubv1.ApplicationLogin) string { return command.Ago(a.Age(l.GetLastLoginAt())) }),
				command.Col("LIVE", func(l *hubv1.ApplicationLogin) string { return strconv.Itoa(int(l.GetLive())) }),
				command.Col("MAY READ", func(l *hubv1.ApplicationLogin) string { return strings.Join(l.GetScopes(), " ") }),
			)
		}),
	}
}

func applicationsEnd(a *command.App) *cobra.Command {
	var user string
	c := &cobra.Command{
		Use: "end NAME", Short: "End the logins of a person to an application, or your own",
		Long: `End all logins of a person to an application, refresh tokens included, within 10 s. Their list of
groups is not changed: they may log in again. Without --user, NAME is the client id of an
application that you agreed to log in to; your logins end there, and it asks again.`,
		Example: "  axle applications end grafana --user leaver@example.com\n  axle applications end app_abc",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			call := func() (*connect.Response[hubv1.EndApplicationLoginsResponse], error) {
				if user == "" {
					return client.Logins.LeaveApplication(c.Context(), connect.NewRequest(&hubv1.LeaveApplicationRequest{ClientId: args[0]}))
				}
				return client.ApplicationClients.EndLogins(c.Context(), connect.NewRequest(&hubv1.EndApplicationLoginsRequest{Name: args[0], User: user}))
			}
			got, err := call()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "logins to %s that ended: %d\n", args[0], got.Msg.GetEnded())
			return err
		}),
	}
	c.Flags().StringVar(&user, "user", "", "e-mail of the person; empty ends your own logins")
	return c
}

func applicationsClient(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "client NAME", Short: "Show the client of an application, without its secret",
		Long: `Show the client of an application: its id, the URL of the identity provider, and its valid
secrets with their ends. The secret itself is only in the Secret on the application's cluster.`,
		Example: "  axle applications client grafana",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			got, err := client.ApplicationClients.Get(c.Context(), connect.NewRequest(&hubv1.GetApplicationClientRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			return printClient(a, got.Msg)
		}),
	}
}

func applicationsTry(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "try NAME", Short: "Try a login to an application",
		Long: `Try a login to an application. Open the address that this prints in a browser and log in to the hub: the page shows
the claims that the application would get, or why a login would be refused and whom to ask. The
application gets nothing, and nothing is saved. Send the address to somebody who cannot log in.`,
		Example: "  axle applications try grafana",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			got, err := client.ApplicationClients.Get(c.Context(), connect.NewRequest(&hubv1.GetApplicationClientRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			address := got.Msg.GetIssuer() + "/try?" + url.Values{"client_id": {got.Msg.GetClientId()}}.Encode()
			if output.Data(a.Output) {
				return a.Encode(map[string]string{"url": address})
			}
			fmt.Fprintln(a.Err, "open this in a browser:")
			_, err = fmt.Fprintln(a.Out, address)
			return err
		}),
	}
}

func applicationsRotate(a *command.App) *cobra.Command {
	var overlap time.Duration
	var now bool
	c := &cobra.Command{
		Use: "rotate NAME", Short: "Give an application a new client secret",
		Long: `Give an application a new client secret, and deliver it. The former one stays valid for a while
after the agent reported the new one, so that no login fails. An application that reads the
Secret only when it starts is restarted in that time.`,
		Example: "  axle applications rotate grafana\n  axle applications rotate grafana --overlap 24h\n  axle applications rotate grafana --now",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			got, err := client.ApplicationClients.Rotate(c.Context(), connect.NewRequest(&hubv1.RotateApplicationSecretRequest{Name: args[0], OverlapMicros: overlap.Microseconds(), Now: now}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "application %s has a new secret\n", args[0])
			return printClient(a, got.Msg)
		}),
	}
	c.Flags().DurationVar(&overlap, "overlap", 0, "how long the former secret stays valid after the new one arrived, at most 168h (default 1h)")
	c.Flags().BoolVar(&now, "now", false, "end all former secrets at once, for one that others know")
	return c
}

func printClient(a *command.App, m *hubv1.ApplicationClient) error {
	former := func(*hubv1.ApplicationClient) string {
		switch all := m.GetSecrets(); {
		case len(all) < 2:
			return ""
		case all[1].GetEndsAt() == 0:
			return "valid until the agent has reported the new one"
		default:
			return "ends at " + time.UnixMicro(all[1].GetEndsAt()).UTC().Format(time.RFC3339)
		}
	}
	return command.PrintOne(a, m, (*hubv1.ApplicationClient).GetName,
		command.Col("Name", (*hubv1.ApplicationClient).GetName),
		command.Col("Client id", (*hubv1.ApplicationClient).GetClientId),
		command.Col("Issuer", (*hubv1.ApplicationClient).GetIssuer),
		command.Col("Delivered", func(m *hubv1.ApplicationClient) string { return map[bool]string{true: "yes"}[m.GetDelivered()] }),
		command.Col("Message", (*hubv1.ApplicationClient).GetMessage),
		command.Col("Former secret", former),
	)
}
