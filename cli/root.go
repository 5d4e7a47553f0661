package cli

import (
	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/examples"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/cli/suggest"
	"github.com/axle-cd/axle/internal/buildinfo"
)

func (a *app) root() *cobra.Command {
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
		PersistentPreRunE: func(*cobra.Command, []string) error { return exitcode.Usage(output.Check(a.output)) },
	}
	root.SetVersionTemplate("axle {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return exitcode.Usage(suggest.Flag(c, err)) })
	flags := root.PersistentFlags()
	flags.StringVar(&a.contextName, "context", "", "name of the logged-in hub to use (env AXLE_CONTEXT)")
	flags.StringVarP(&a.output, "output", "o", "table", "output format: table, wide, json, yaml, name, jsonpath=TEMPLATE or go-template=TEMPLATE")
	flags.BoolVar(&a.noHeaders, "no-headers", false, "print tables without their titles")
	flags.StringVar(&a.hubURL, "hub", "", "URL of the hub, instead of a context (env AXLE_HUB_URL)")
	flags.StringVar(&a.tokenFile, "token-file", "", "file with the API token, instead of a context's (env AXLE_TOKEN_FILE, or AXLE_TOKEN)")
	flags.StringVar(&a.caFile, "ca", "", "file with the certificate authority to trust (env AXLE_CA_FILE)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only names or IDs, and no progress")
	root.AddCommand(
		a.login(), a.logout(), a.whoami(), a.version(), a.completion(root),
		a.clusters(), a.repos(), a.services(), a.projects(), a.webhooks(), a.contexts(), a.outputs(), a.config(), a.agents(), a.tokens(), a.serviceAccounts(), a.federation(), a.audit(), a.users(), a.groups(), a.auth(), a.sessions(), a.providers(), a.hub(), a.events(), a.apply(), a.diff(), a.kubectl(), logs(a), docs(),
	)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats, cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("context", completeHubs(a))
	root.CompletionOptions.DisableDefaultCmd = true
	examples.Add(root)
	a.completeNames(root)
	askFirst(a, root)
	return root
}
