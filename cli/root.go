package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/access"
	"github.com/axle-cd/axle/cli/apply"
	"github.com/axle-cd/axle/cli/audit"
	"github.com/axle-cd/axle/cli/bundle"
	"github.com/axle-cd/axle/cli/clusters"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/described"
	"github.com/axle-cd/axle/cli/diff"
	"github.com/axle-cd/axle/cli/examples"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/explain"
	"github.com/axle-cd/axle/cli/export"
	"github.com/axle-cd/axle/cli/hub"
	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/cli/login"
	"github.com/axle-cd/axle/cli/metrics"
	"github.com/axle-cd/axle/cli/notifications"
	"github.com/axle-cd/axle/cli/operations"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/repos"
	"github.com/axle-cd/axle/cli/rollouts"
	"github.com/axle-cd/axle/cli/services"
	"github.com/axle-cd/axle/cli/suggest"
	"github.com/axle-cd/axle/cli/up"
	"github.com/axle-cd/axle/cli/values"
	"github.com/axle-cd/axle/internal/buildinfo"
)

func newRoot(a *command.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "axle",
		Short: "Deploy from Git to every cluster, and see what runs where",
		Long: `axle is the client of an Axle hub: it registers clusters and repositories, deploys
services to clusters, and shows what runs where, with the age of each fact.`,
		Example: `  axle login https://hub.example.com --token-file token
  axle repos add fleet https://git.example.com/fleet.git
  axle clusters connect edge-1 --kubeconfig edge-1.yaml
  axle services create web --cluster edge-1 --repo fleet --ref main --folder apps/web --wait
  axle services list`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildinfo.Version,
		Args:          suggest.Verb,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		// A wrong -o is found before anything is done.
		PersistentPreRunE: func(*cobra.Command, []string) error { return exitcode.Usage(output.Check(a.Output)) },
	}
	root.SetVersionTemplate("axle {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return exitcode.Usage(suggest.Flag(c, err)) })
	flags := root.PersistentFlags()
	flags.StringVar(&a.ContextName, "context", "", "name of the logged-in hub to use (env AXLE_CONTEXT)")
	flags.StringVarP(&a.Output, "output", "o", "table", "output format: table, wide, json, yaml, csv, name, jsonpath=TEMPLATE or go-template=TEMPLATE")
	flags.BoolVar(&a.NoHeaders, "no-headers", false, "print tables without their titles")
	flags.StringVar(&a.HubURL, "hub", "", "URL of the hub, instead of a context (env AXLE_HUB_URL)")
	flags.StringVar(&a.TokenFile, "token-file", "", "file with the API token, instead of a context's (env AXLE_TOKEN_FILE, or AXLE_TOKEN)")
	flags.StringVar(&a.CAFile, "ca", "", "file with the certificate authority to trust (env AXLE_CA_FILE)")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "print only names or IDs, and no progress")
	root.AddCommand(
		login.Command(a), login.Logout(a), login.Contexts(a), login.WhoAmI(a), version(a), completionCommand(a, root),
		clusters.Command(a), repos.Command(a), services.Command(a), services.GlobalServices(a), rollouts.Command(a), operations.Command(a), metrics.Command(a), services.Namespaces(a), access.Projects(a), notifications.Command(a), repos.Webhooks(a), values.ServiceContexts(a), values.Outputs(a), values.Backends(a), clusters.Agents(a), access.Tokens(a), access.ServiceAccounts(a), access.Federation(a), audit.Command(a), access.Users(a), access.Groups(a), access.Auth(a), login.Sessions(a), access.Providers(a), hub.Command(a), audit.Events(a), apply.Command(a), clusters.Kubectl(a), clusters.Logs(a), docs(),
	)
	root.AddCommand(install.Command(a, runner(a)), install.Upgrade(a), install.Preflight(a), install.Uninstall(a), up.Command(a, runner(a)), up.Down(a, runner(a)))
	root.AddCommand(
		bundle.Command(a), diff.Command(a, services.Diff(a), apply.Planner(a), services.Asker), export.Get(a), export.Command(a), explain.Command(a),
	)
	addDescribed(a, root)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("context", command.CompleteHubs(a))
	root.CompletionOptions.DisableDefaultCmd = true
	examples.Add(root)
	if completing(a.Args) {
		completeNames(a, root)
	}
	askFirst(a, root)
	return root
}

// addDescribed adds the commands of the kinds in the hub's table of objects.
func addDescribed(a *command.App, root *cobra.Command) {
	for _, k := range object.Stored() {
		below, noun := described.Command(a, k)
		parent, _, err := root.Find(strings.Fields(below))
		if err != nil {
			parent = root
		}
		parent.AddCommand(noun)
		if k.Name == object.ClusterTemplate.Name {
			noun.AddCommand(clusters.VariablesCommand(a))
		}
		if k.Name == object.Application.Name {
			noun.AddCommand(access.ApplicationCommands(a)...)
		}
	}
}

// runner runs another command with the settings of this one, as if it were typed. Its progress
// and its errors are shown; its result is not the one that was asked for.
func runner(a *command.App) install.Runner {
	return func(ctx context.Context, args ...string) error {
		again := *a
		again.Args, again.Out = args, io.Discard
		root := newRoot(&again)
		root.SetArgs(args)
		root.SetIn(a.In)
		root.SetOut(io.Discard)
		root.SetErr(a.Err)
		return root.ExecuteContext(ctx)
	}
}
