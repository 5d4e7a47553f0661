package cli

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/skew"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
)

type versionView struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`
	Go         string `json:"go"`
	HubVersion string `json:"hubVersion"`
}

// hubVersion asks the hub for its version. It is empty without a login.
func hubVersion(ctx context.Context, a *command.App) (string, error) {
	hub, err := a.Client()
	if errcode.Is(err, errcode.Unauthorized) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	who, err := hub.Sessions.WhoAmI(ctx, connect.NewRequest(&hubv1.WhoAmIRequest{}))
	if err != nil {
		return "", err
	}
	return who.Msg.GetHubVersion(), nil
}

func version(a *command.App) *cobra.Command {
	var client bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this command and the hub",
		Long: `Show the versions of this command and the hub, with a warning when they are more than
one minor version apart. axle --version shows only the version of this command.`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			view := versionView{Version: buildinfo.Version, Commit: buildinfo.Commit(), Go: buildinfo.Go()}
			var err error
			if !client {
				view.HubVersion, err = hubVersion(c.Context(), a)
			}
			if warning := skew.Warning(view.Version, view.HubVersion); warning != "" {
				fmt.Fprintf(a.Err, "Warning: %s\n", warning)
			}
			if output.Data(a.Output) {
				return errors.Join(a.Encode(view), err)
			}
			fmt.Fprintf(a.Out, "axle %s (%s, %s)\n", view.Version, view.Commit, view.Go)
			if view.HubVersion != "" {
				fmt.Fprintf(a.Out, "hub  %s\n", view.HubVersion)
			}
			return err
		},
	}
	c.Flags().BoolVar(&client, "client", false, "do not ask the hub")
	return c
}
