package hub

import (
	"context"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/supportbundle"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

type hubView struct {
	Version      string        `json:"version"`
	Database     string        `json:"database"`
	Position     string        `json:"position"`
	DeletesHeld  bool          `json:"deletesHeld"`
	RestoredFrom string        `json:"restoredFrom"`
	StartedAt    string        `json:"startedAt"`
	Age          string        `json:"age"`
	Replicas     []replicaView `json:"replicas"`
	// AtRisk is how much there is in axle hub at-risk; absent for those who may not read it.
	AtRisk *int32 `json:"atRisk,omitempty"`
	// Backups are the scheduled ones, absent when none are.
	Backups *backupsView `json:"backups,omitempty"`
}

type replicaView struct {
	Name         string `json:"name"`
	URL          string `json:"url"`
	Version      string `json:"version"`
	State        string `json:"state"`
	SeenAge      string `json:"seenAge"`
	Repositories int32  `json:"repositories"`
	Draining     bool   `json:"draining"`
	// FeedBehind is how many commits the replica has not read yet. FeedAge is
	// how long ago it had read all of them.
	FeedBehind int64  `json:"feedBehind"`
	FeedAge    string `json:"feedAge"`
	DiskFree   int64  `json:"diskFree"`
	DiskTotal  int64  `json:"diskTotal"`
}

func replica(a *command.App, r *hubv1.Replica, s *hubv1.HubStatus) replicaView {
	v := replicaView{
		Name: r.GetName(), URL: r.GetUrl(), Version: r.GetVersion(), State: "alive", SeenAge: a.Age(r.GetSeenAt()),
		Repositories: r.GetRepositories(), Draining: r.GetDraining(), DiskFree: r.GetDiskFree(), DiskTotal: r.GetDiskTotal(),
		FeedAge: (time.Duration(r.GetFeedAgeMicros()) * time.Microsecond).Round(100 * time.Millisecond).String(),
	}
	if r.GetIncarnation() == s.GetIncarnation() {
		v.FeedBehind = max(0, s.GetFeedSequence()-r.GetSequence())
	}
	switch {
	case r.GetLeaving() && r.GetRepositories() == 0:
		v.State = "drained"
	case r.GetLeaving():
		v.State = "draining"
	case r.GetDrainingUntil() != 0:
		v.State = "stopped"
	case !r.GetAlive():
		v.State = "away"
	}
	return v
}

// line is a replica as the human-readable status shows it.
func (v replicaView) line() string {
	line := fmt.Sprintf("%s  %s  %s, seen %s, %s", v.Name, v.URL, v.State, command.Ago(v.SeenAge), output.Count(v.Repositories, "repository"))
	if v.State != "away" && v.State != "stopped" {
		line += fmt.Sprintf(", feed %d behind (%s)", v.FeedBehind, v.FeedAge)
	}
	if v.DiskTotal > 0 {
		line += fmt.Sprintf(", disk %d%% free of %.1f GiB", v.DiskFree*100/v.DiskTotal, float64(v.DiskTotal)/(1<<30))
	}
	return line
}

func statusCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the hub's version, database and replicas", Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			s, err := client.Hub.Status(c.Context(), connect.NewRequest(&hubv1.HubStatusRequest{}))
			if err != nil {
				return err
			}
			m := s.Msg
			view := hubView{m.GetVersion(), m.GetDatabase(), fmt.Sprintf("%s.%d", m.GetIncarnation(), m.GetSequence()), m.GetDeletesHeld(), m.GetRestoredFrom(), fields.Stamp(m.GetStartedAt()), a.Age(m.GetStartedAt()), []replicaView{}, atRisk(c.Context(), client), backups(a, m.GetBackups())}
			for _, r := range m.GetReplicas() {
				view.Replicas = append(view.Replicas, replica(a, r, m))
			}
			return command.PrintOne(a, view, func(v hubView) string { return v.Version },
				command.Col("Version", func(v hubView) string { return v.Version }),
				command.Col("Running for", func(v hubView) string { return v.Age }),
				command.Col("Database", func(v hubView) string { return v.Database }),
				command.Col("Position", func(v hubView) string { return v.Position }),
				command.Col("Deletes", func(v hubView) string {
					if v.DeletesHeld {
						return "deletes are held since the restore; axle hub confirm-restore releases them"
					}
					return ""
				}),
				command.Col("At risk", func(v hubView) string {
					if v.AtRisk == nil || *v.AtRisk == 0 {
						return ""
					}
					return output.Count(*v.AtRisk, "thing") + " older than the rule that would refuse it; axle hub at-risk lists them, with the command that settles each"
				}),
				command.Col("Backups", func(v hubView) string { return v.Backups.line() }),
				command.Col("Replicas", func(v hubView) string {
					var lines []string
					for _, r := range v.Replicas {
						lines = append(lines, r.line())
					}
					return strings.Join(lines, "\n")
				}),
			)
		}),
	}
}

// atRisk returns how much is at risk, nil if the hub is older or the caller may not know.
func atRisk(ctx context.Context, client *sdk.Client) *int32 {
	r, err := client.Hub.AtRisk(ctx, connect.NewRequest(&hubv1.AtRiskRequest{Limit: 1}))
	if err != nil {
		return nil
	}
	return &r.Msg.Total
}

func atRiskCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "at-risk", Short: "List what is older than a rule that would refuse it, and how to settle it",
		Long: `List what works only because it is older than a rule that refuses it today: tags that
no administrator is known to have set, handles that are other clusters' names, groups
whose names mean something to clusters, services with the name of the hub's own. Each
line has the command that settles it. For administrators.`,
		Example: "  axle hub at-risk\n  axle hub at-risk -o json",
		Args:    command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			return command.PrintRisks(c.Context(), a, client)
		}),
	}
}

func drainCommand(a *command.App) *cobra.Command {
	var undo bool
	var timeout time.Duration
	c := &cobra.Command{
		Use: "drain REPLICA", Short: "Move the repositories of a replica to the others, before removing the replica",
		Long: `Move every repository that a replica of the hub owns to the other replicas, and wait
until it owns none. The others copy the repositories from the replica; no upstream is
contacted. A replica that only restarts needs no drain: its repositories wait two
minutes for it. A drained replica takes part again after a restart, or with --undo.`,
		Example: "  axle hub drain hub-2\n  axle hub drain hub-2 --undo",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if _, err := client.Hub.Drain(c.Context(), connect.NewRequest(&hubv1.DrainRequest{Replica: args[0], Undo: undo})); err != nil || undo {
				return err
			}
			left := int32(-1)
			done, err := a.PollUntil(c.Context(), timeout, func(ctx context.Context) (bool, error) {
				s, err := client.Hub.Status(ctx, connect.NewRequest(&hubv1.HubStatusRequest{}))
				if err != nil {
					return false, err
				}
				for _, r := range s.Msg.GetReplicas() {
					if r.GetName() == args[0] {
						left = r.GetRepositories()
					}
				}
				return left == 0, nil
			})
			if err == nil && !done {
				err = errcode.New(errcode.Unavailable, "replica %s still owns %s; the drain continues", args[0], output.Count(left, "repository"))
			}
			if err == nil {
				_, err = fmt.Fprintf(a.Err, "replica %s owns no repositories now\n", args[0])
			}
			return err
		}),
	}
	c.Flags().BoolVar(&undo, "undo", false, "let the replica own repositories again")
	c.Flags().DurationVar(&timeout, "timeout", 10*time.Minute, "how long to wait until the replica owns none")
	return c
}

func rotateSigningKeyCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "rotate-signing-key", Short: "Create a new key that signs the data for agents",
		Long: `Create a new key that signs the lists and specs for agents. Agents receive it,
signed with the present key, when they renew their tokens every 16 hours. The new
key takes over after 48 hours. The hub rotates the key by itself every 90 days.`,
		Example: "  axle hub rotate-signing-key",
		Args:    command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			r, err := client.Hub.RotateSigningKey(c.Context(), connect.NewRequest(&hubv1.RotateSigningKeyRequest{}))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "signing key %s is announced and takes over at %s\n", r.Msg.GetKeyId(), fields.Stamp(r.Msg.GetSignsFrom()))
			return err
		}),
	}
}

// Command returns the command axle hub.
func Command(a *command.App) *cobra.Command {
	confirm := &cobra.Command{
		Use: "confirm-restore", Short: "Let agents delete again after a restore from backup",
		Long: `After a restore from backup, agents follow the hub again by themselves, but they hold
every delete: objects that the backup does not know may have been created since.
Check the services that are Held, then confirm once.`,
		Args: command.NoArgs,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			r, err := client.Hub.ConfirmRestore(c.Context(), connect.NewRequest(&hubv1.ConfirmRestoreRequest{}))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Err, "restore confirmed; agents follow incarnation %s\n", r.Msg.GetIncarnation())
			return err
		}),
	}
	return command.Noun("hub", "Operate the hub", nil, statusCommand(a), drainCommand(a), rotateSigningKeyCommand(a), syncWindowsCommand(a), supportbundle.Command(a), atRiskCommand(a), confirm)
}
