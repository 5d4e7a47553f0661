package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/daemon"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "axle-hub",
		Short:         "The management plane of Axle",
		Long:          "axle-hub follows repositories, decides what every cluster should run, and answers agents and people.\n\nEvery flag can be given as environment variable " + envPrefix + "<FLAG>.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; %w", err, errUsage)
	})
	root.AddCommand(newServe(), newBackup(), newBackups(), newRestore(), newAdmin(), newGitServer(), newVersion())
	for _, c := range root.Commands() {
		c.Args = usageArgs(c.Args)
		for _, below := range c.Commands() {
			below.Args = usageArgs(below.Args)
		}
	}
	root.Args = usageArgs(root.Args)
	return root
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w; %w", err, errUsage)
		}
		return nil
	}
}

func newServe() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "serve --data-dir DIR",
		Short: "Run a hub until it is stopped",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			o.config.Deploy = deploy.Agent
			embed(&o.config)
			h, err := hub.New(o.config)
			if err != nil {
				return err
			}
			return run(cmd.Context(), h)
		},
	}
	o.database(cmd.Flags())
	o.serve(cmd.Flags())
	return cmd
}

// run runs a hub, and tells systemd when it answers.
func run(ctx context.Context, h *hub.Hub) error {
	ctx, stop := context.WithCancel(ctx)
	told := make(chan error, 1)
	go func() { told <- daemon.TellReady(ctx, h.Ready) }()
	err := h.Run(ctx)
	stop()
	return errors.Join(err, <-told)
}

func newBackup() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "backup FILE --data-dir DIR | --database-url URL",
		Short:   "Write the whole database to a file or a bucket, even while the hub runs",
		Long:    "Write the whole database to a file, or to an object in a bucket, even while the hub runs. An interrupted backup leaves nothing under the name. axle-hub serve --backup-to makes backups on a schedule.",
		Example: "  axle-hub backup /backup/before-upgrade.backup --data-dir /var/lib/axle\n  axle-hub backup s3://backups/axle/before-upgrade.backup --data-dir /var/lib/axle\n  kubectl exec -n axle axle-0 -- axle-hub backup s3://backups/axle/before-upgrade.backup --data-dir /var/lib/axle",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			size, err := hub.Backup(cmd.Context(), o.config, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s, %d bytes; its secrets are encrypted: keep a copy of the key file (hub.key in the data folder, or --key-file) elsewhere\n", args[0], size)
			return err
		},
	}
	o.database(cmd.Flags())
	o.keyFile(cmd.Flags())
	o.bucket(cmd.Flags())
	return cmd
}

func newBackups() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "backups PLACE",
		Short:   "List the backups that hubs made on a schedule, newest first",
		Example: "  axle-hub backups /backup\n  axle-hub backups s3://backups/axle --backup-credentials-file keys",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			files, err := hub.Backups(cmd.Context(), o.config, args[0])
			if err != nil {
				return err
			}
			for _, f := range files {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %12d  %s\n", f.At.Format(time.RFC3339), f.Bytes, f.Name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.bucket(cmd.Flags())
	return cmd
}

func newRestore() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "restore FILE | PLACE --data-dir DIR | --database-url URL",
		Short:   "Replace the database by a backup, while the hub is stopped",
		Long:    "Replace the database by a backup, while the hub is stopped. A folder, or a bucket with a slash at its end, stands for the newest backup that the hub made there on its schedule. A restore that fails changes nothing.",
		Example: "  axle-hub restore /backup/before-upgrade.backup --data-dir /var/lib/axle\n  axle-hub restore s3://backups/axle/ --data-dir /var/lib/axle",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			name, _, err := hub.Restore(cmd.Context(), o.config, args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "restored %s; start the hub, check its log and the services, then run: axle hub confirm-restore\nuntil then agents delete nothing\n", name)
			return err
		},
	}
	o.database(cmd.Flags())
	o.keyFile(cmd.Flags())
	o.bucket(cmd.Flags())
	return cmd
}

func newAdmin() *cobra.Command {
	admin := &cobra.Command{
		Use:   "admin",
		Short: "Administrative tasks that need access to the hub's machine",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	admin.AddCommand(newReset(), newKey())
	return admin
}

func newReset() *cobra.Command {
	var o options
	var dropFactors bool
	cmd := &cobra.Command{
		Use:     "reset EMAIL --data-dir DIR | --database-url URL",
		Short:   "Reset a user's password, even while the hub runs",
		Long:    "Reset a user's password: log the user out everywhere, revoke the tokens that they made, and print a URL where they can choose a new password, once and within an hour. This needs the hub's database and its key file, and is recorded in the audit log.",
		Example: "  axle-hub admin reset you@example.com --data-dir /var/lib/axle --external-url https://axle.example.com\n  kubectl exec -n axle axle-0 -- axle-hub admin reset you@example.com",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			r, err := hub.ResetLogin(cmd.Context(), o.config, args[0], dropFactors)
			if err != nil {
				return err
			}
			where := r.URL
			if o.config.ExternalURL == "" {
				where = "the hub's URL with " + r.URL
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d sessions, command-line logins and tokens of %s have ended. The user can choose a new password once, before %s, at:\n%s\n", r.Ended, r.User, r.ExpiresAt.Format("2006-01-02 15:04 UTC"), where)
			return err
		},
	}
	o.database(cmd.Flags())
	o.keyFile(cmd.Flags())
	cmd.Flags().StringVar(&o.config.ExternalURL, "external-url", "", "URL of the hub, for the printed URL")
	cmd.Flags().BoolVar(&dropFactors, "drop-second-factors", false, "also remove one-time codes and passkeys, if they are lost")
	return cmd
}

func newKey() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:     "key --data-dir DIR | --key-file FILE",
		Short:   "Print the hub's key, for a copy in a safe place",
		Long:    "Print the hub's key, for a copy in a safe place. A backup cannot be read without it, and whoever has both can read everything: send it to a file that nobody else reads.",
		Example: "  kubectl exec -n axle axle-0 -- axle-hub admin key > hub.key\n  axle-hub admin key --data-dir /var/lib/axle > hub.key",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			key, err := hub.Key(o.config)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(key)
			return err
		},
	}
	o.database(cmd.Flags())
	o.keyFile(cmd.Flags())
	return cmd
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "axle-hub %s (%s, %s)\n", buildinfo.Version, buildinfo.Commit(), buildinfo.Go())
			return err
		},
	}
}
