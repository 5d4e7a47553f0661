package values

import (
	"fmt"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
)

// ServiceContexts returns the command axle servicecontexts.
func ServiceContexts(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "ServiceContext", "List contexts with their keys", "", printValueSets)
	get := command.Gets(a, "ServiceContext", "Show contexts; of secrets only the keys", "  axle servicecontexts get prod\n  axle servicecontexts get prod -o json | jq .values", printValueSet, printValueSets)
	remove := command.Deletes(a, "ServiceContext", "context", "deleted", "Delete contexts that no service uses", "  axle servicecontexts delete prod")
	// The alias contexts is the older name, kept for one release: axle context is
	// about the hubs that one is logged in to.
	return command.Noun("servicecontexts", "Manage service contexts, named values that services share", []string{"servicecontext", "contexts", "context-values"}, list, get, serviceContextsCreate(a), serviceContextsSet(a), remove)
}

func serviceContextsCreate(a *command.App) *cobra.Command {
	var v valueFlags
	c := &cobra.Command{
		Use: "create NAME [KEY=VALUE…]", Short: "Create a context", Args: command.AtLeast(1),
		Example: `  axle servicecontexts create prod region=eu-1 replicas=3 --secret dbPassword=db.password
  axle servicecontexts create shared -f values.yaml --project shop`,
		RunE: func(c *cobra.Command, args []string) error {
			made, err := newContext(a, v, args[0], args[1:])
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			one, err := client.Contexts.Create(c.Context(), connect.NewRequest(&hubv1.CreateContextRequest{Context: made, Management: command.Management()}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "context %s created\n", args[0])
			return printValueSet(a, one.Msg)
		},
	}
	v.flags(c)
	c.Flags().StringVar(&v.project, "project", "", "let only services of this project use it (default: all)")
	return c
}

func serviceContextsSet(a *command.App) *cobra.Command {
	var v valueFlags
	var unset []string
	var replace bool
	management := command.Management()
	c := &cobra.Command{
		Use: "set NAME [KEY=VALUE…]", Short: "Change values of a context; services that use it get a new revision", Args: command.AtLeast(1),
		Example: `  axle servicecontexts set prod replicas=5 --unset region
  axle servicecontexts set prod --secret dbPassword=env:DB_PASSWORD`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && v.file == "" && len(v.secrets)+len(unset) == 0 && !replace && v.project == "" && !v.global && !management.GetTakeOver() {
				return exitcode.Usagef("give something to change: KEY=VALUE, --file, --secret, --unset, --project or --global")
			}
			changed, err := newContext(a, v, args[0], args[1:])
			if err != nil {
				return err
			}
			client, err := a.Client()
			if err != nil {
				return err
			}
			one, err := client.Contexts.Update(c.Context(), connect.NewRequest(&hubv1.UpdateContextRequest{Context: changed, Merge: !replace, Unset: unset, Global: v.global, Management: management}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "context %s is at version %d, used by %s\n", args[0], one.Msg.GetVersion(), output.Count(one.Msg.GetServices(), "service"))
			return printValueSet(a, one.Msg)
		},
	}
	v.flags(c)
	c.Flags().StringArrayVar(&unset, "unset", nil, "key to remove")
	c.Flags().BoolVar(&replace, "replace", false, "remove every value that is not given")
	command.TakeOverFlag(c, management)
	v.home(c, "move it to this project, so that only its services may use it (default: do not move)")
	return c
}
