package values

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/sdk"
)

type backendView struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Default   bool   `json:"default"`
	ReadOnly  bool   `json:"readOnly"`
	Healthy   bool   `json:"healthy"`
	Problem   string `json:"problem"`
	Documents int64  `json:"documents"`
}

// Backends returns the command axle backends.
func Backends(a *command.App) *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls", "backends"}, Short: "List the backends that store values, with the default and their health", Args: command.NoArgs,
		Example: "  axle backends list\n  axle backends list -o json | jq '.[] | select(.healthy | not)'",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Backends.List(c.Context(), connect.NewRequest(&hubv1.ListBackendsRequest{}))
			if err != nil {
				return err
			}
			views := []backendView{}
			for _, b := range all.Msg.GetBackends() {
				views = append(views, backendView{b.GetName(), b.GetType(), b.GetDefault(), b.GetReadOnly(), b.GetProblem() == "", b.GetProblem(), b.GetDocuments()})
			}
			return command.PrintList(a, views, func(v backendView) string { return v.Name },
				command.Col("NAME", func(v backendView) string { return v.Name }),
				command.Col("TYPE", func(v backendView) string { return v.Type }),
				command.Col("DEFAULT", func(v backendView) string {
					if v.Default {
						return "yes"
					}
					return ""
				}),
				command.Col("DOCUMENTS", func(v backendView) string {
					if v.ReadOnly {
						return "(read only)"
					}
					return fmt.Sprint(v.Documents)
				}),
				command.Col("HEALTH", func(v backendView) string { return cmp.Or(v.Problem, "ok") }),
			)
		}),
	}
	rotate := &cobra.Command{
		Use: "rotate-key", Short: "Encrypt the values of the built-in backend with the first key of the hub's key file",
		Long: `Encrypt every value of the built-in backend with the first key of the hub's key
file (axle-hub's --key-file, by default hub.key in the data folder).

To change the key of a hub with one replica, add a new line at the top of the file,
restart the hub, and run this command. With several replicas, add the line at the
bottom on every replica and restart them one at a time; then move it to the top on
every replica, restart them all at once, and run this command. It can be interrupted
and repeated at any point.`,
		Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			done, err := client.Backends.RotateKey(c.Context(), connect.NewRequest(&hubv1.RotateKeyRequest{}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "%s encrypted again; all values now use key %s\n", output.Count(done.Msg.GetValues(), "value"), done.Msg.GetKeyId())
			return nil
		}),
	}
	// The alias config is the older name, kept for one release.
	return command.Noun("backends", "Manage the backends that store values", []string{"backend", "config"}, list, backendsMigrate(a), rotate)
}

func printMigration(a *command.App, m *hubv1.Migration) error {
	return command.PrintOne(a, m, (*hubv1.Migration).GetPhase,
		command.Col("Phase", (*hubv1.Migration).GetPhase),
		command.Col("From", (*hubv1.Migration).GetFrom),
		command.Col("To", (*hubv1.Migration).GetTo),
		command.Col("Copied", func(v *hubv1.Migration) string { return fmt.Sprint(v.GetCopied()) }),
		command.Col("Deleted", func(v *hubv1.Migration) string { return fmt.Sprint(v.GetDeleted()) }),
		command.Col("Left", func(v *hubv1.Migration) string { return fmt.Sprint(v.GetLeft()) }),
		command.Col("Problem", (*hubv1.Migration).GetProblem),
	)
}

func backendsMigrate(a *command.App) *cobra.Command {
	var request hubv1.MigrateRequest
	var status bool
	var detach bool
	c := &cobra.Command{
		Use: "migrate --from BACKEND --to BACKEND", Short: "Move all values to another backend and make it the default",
		Long: `Move all values to another backend. New values go there at once. Each old value is
copied, read back and compared, and from then on read from there. The old copies
are deleted only after all values were switched. Services are not affected. The
hub does the work: interrupting this command, or the hub, only delays it.`,
		Example: `  axle backends migrate --from built-in --to vault
  axle backends migrate --status`,
		Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			if status {
				m, err := client.Backends.GetMigration(c.Context(), connect.NewRequest(&hubv1.GetMigrationRequest{}))
				if err != nil {
					return err
				}
				return printMigration(a, m.Msg)
			}
			if request.From == "" || request.To == "" {
				return exitcode.Usagef("give --from and --to, or --status")
			}
			m, err := client.Backends.Migrate(c.Context(), connect.NewRequest(&request))
			if err != nil {
				return err
			}
			if detach {
				return printMigration(a, m.Msg)
			}
			return followMigration(c.Context(), a, client)
		}),
	}
	c.Flags().StringVar(&request.From, "from", "", "backend that holds the values now")
	c.Flags().StringVar(&request.To, "to", "", "backend to move the values to")
	c.Flags().BoolVar(&status, "status", false, "show the progress of the last migration")
	c.Flags().BoolVar(&detach, "detach", false, "do not wait for the migration to finish")
	return c
}

// followMigration waits until the migration is done.
func followMigration(ctx context.Context, a *command.App, client *sdk.Client) error {
	shown := ""
	for {
		m, err := client.Backends.GetMigration(ctx, connect.NewRequest(&hubv1.GetMigrationRequest{}))
		if err != nil {
			return err
		}
		if phase := m.Msg.GetPhase(); phase == "done" || phase == "none" {
			return printMigration(a, m.Msg)
		}
		line := fmt.Sprintf("%s: %d copied, %d deleted, %d left", m.Msg.GetPhase(), m.Msg.GetCopied(), m.Msg.GetDeleted(), m.Msg.GetLeft())
		if problem := m.Msg.GetProblem(); problem != "" {
			line += "; waiting: " + problem
		}
		if line != shown && !a.Quiet {
			fmt.Fprintln(a.Err, line)
		}
		shown = line
		if err := jitter.Wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}
