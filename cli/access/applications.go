package access

import (
	"fmt"
	"net/url"
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
	return []*cobra.Command{applicationsClient(a), applicationsTry(a), applicationsRotate(a)}
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
