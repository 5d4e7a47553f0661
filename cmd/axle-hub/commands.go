package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/hub"
	"github.com/axle-cd/axle/internal/buildinfo"
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
	root.AddCommand(newServe(), newBackup(), newRestore(), newVersion())
	for _, c := range root.Commands() {
		c.Args = usageArgs(c.Args)
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
		Short: "Run a hub until it is told to stop",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			h, err := hub.New(o.config)
			if err != nil {
				return err
			}
			return h.Run(cmd.Context())
		},
	}
	o.database(cmd.Flags())
	o.serve(cmd.Flags())
	return cmd
}

func newBackup() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "backup FILE --data-dir DIR | --database-url URL",
		Short: "Write the whole database to a file, also while the hub runs",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			if err := hub.Backup(cmd.Context(), o.config, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "wrote %s; secrets in it are sealed: keep a copy of the key file (hub.key in the data folder, or --key-file) elsewhere\n", args[0])
			return err
		},
	}
	o.database(cmd.Flags())
	return cmd
}

func newRestore() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "restore FILE --data-dir DIR | --database-url URL",
		Short: "Replace the database by a backup, with the hub stopped",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.finish(cmd); err != nil {
				return err
			}
			if _, err := hub.Restore(cmd.Context(), o.config, args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "restored; start the hub, look at what it says, then run: axle hub confirm-restore\nuntil then agents delete nothing")
			return err
		},
	}
	o.database(cmd.Flags())
	return cmd
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "axle-hub %s (%s, %s)\n", buildinfo.Version, buildinfo.Commit(), buildinfo.Go())
			return err
		},
	}
}
