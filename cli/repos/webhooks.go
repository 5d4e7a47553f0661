package repos

import (
	"fmt"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// Webhooks returns the command axle webhooks.
func Webhooks(a *command.App) *cobra.Command {
	list := command.ListsManaged(a, "Webhook", "List webhooks with their last delivery", "", func(a *command.App, all []*hubv1.Webhook) error {
		return command.PrintList(a, all, (*hubv1.Webhook).GetName,
			command.Col("NAME", (*hubv1.Webhook).GetName),
			command.Col("PROVIDER", (*hubv1.Webhook).GetProvider),
			command.Col("REPOSITORY", func(v *hubv1.Webhook) string {
				if v.GetRepository() == "" {
					return "(by URL)"
				}
				return v.GetRepository()
			}),
			command.Col("LAST DELIVERY", func(v *hubv1.Webhook) string { return command.Ago(a.Age(v.GetDeliveredAt())) }),
			command.Col("OUTCOME", (*hubv1.Webhook).GetOutcome),
			command.Wide("MANAGED BY", command.ManagerOf[*hubv1.Webhook]),
			command.Col("URL", (*hubv1.Webhook).GetUrl),
		)
	})
	remove := command.Deletes(a, "Webhook", "webhook", "deleted", "Delete webhooks; later deliveries from their upstreams are refused", "")
	return command.Noun("webhooks", "Manage webhooks, with which upstreams announce pushes", []string{"webhook"}, list, webhooksCreate(a), remove)
}

func webhooksCreate(a *command.App) *cobra.Command {
	request := &hubv1.CreateWebhookRequest{Management: command.Management()}
	var secretFile string
	c := &cobra.Command{
		Use: "create NAME --provider PROVIDER", Short: "Create a webhook; print its URL and, once, its secret",
		Long: `Create a webhook and show what to enter at the upstream: the URL, and the secret,
which is shown only once. A delivery carries no content: it makes the hub check the
named repository at once, before the next poll. Without --repository, one webhook
serves all repositories of the provider.

The generic provider takes any POST whose header X-Axle-Signature is
sha256=HEX, the HMAC-SHA-256 of the body under the secret. The body is JSON,
{"url": "https://git.example.com/a/b.git", "ref": "refs/heads/main"}, or empty
when the webhook is restricted to one repository.`,
		Example: `  axle webhooks create github --provider github
  axle webhooks create shop --provider gitlab --repository shop
  axle webhooks create ci --provider generic --repository shop --secret-file ci.secret`,
		Args: command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name = args[0]
			if secretFile != "" {
				text, err := os.ReadFile(secretFile)
				if err != nil {
					return exitcode.Usagef("read --secret-file: %v", err)
				}
				request.Secret = strings.TrimRight(string(text), "\r\n")
			}
			made, err := client.Webhooks.Create(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			hook := made.Msg.GetWebhook()
			if output.Data(a.Output) {
				return a.Encode(fields.Of(hook, a.Age).With("secret", made.Msg.GetSecret()))
			}
			fmt.Fprintf(a.Err, "webhook %s created; enter this at the upstream (content type application/json, pushes and tags):\n", hook.GetName())
			_, err = fmt.Fprintf(a.Out, "URL     %s\nSecret  %s\n", hook.GetUrl(), made.Msg.GetSecret())
			return err
		}),
	}
	command.TakeOverFlag(c, request.GetManagement())
	f := c.Flags()
	f.StringVar(&request.Provider, "provider", "", strings.Join(rule.WebhookProviders, ", "))
	f.StringVar(&request.Repository, "repository", "", "the only repository that it may refresh (default: any whose URL a delivery names)")
	f.StringVar(&secretFile, "secret-file", "", "file with the secret (default: generate one)")
	_ = c.MarkFlagRequired("provider")
	_ = c.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(rule.WebhookProviders, cobra.ShellCompDirectiveNoFileComp))
	return c
}
