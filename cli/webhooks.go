package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

// webhookProviders are the values of --provider.
var webhookProviders = []string{"azure", "bitbucket", "generic", "gitea", "github", "gitlab"}

type webhookView struct {
	Name         string `json:"name"`
	Provider     string `json:"provider"`
	Repository   string `json:"repository"`
	URL          string `json:"url"`
	CreatedAt    string `json:"createdAt"`
	DeliveredAt  string `json:"deliveredAt"`
	DeliveredAge string `json:"deliveredAge"`
	Outcome      string `json:"outcome"`
	// Secret is set only when the webhook was just created.
	Secret string `json:"secret,omitempty"`
}

func (a *app) webhookView(w *hubv1.Webhook) webhookView {
	return webhookView{
		Name: w.GetName(), Provider: w.GetProvider(), Repository: w.GetRepository(), URL: w.GetUrl(), CreatedAt: stamp(w.GetCreatedAt()),
		DeliveredAt: stamp(w.GetDeliveredAt()), DeliveredAge: a.age(w.GetDeliveredAt()), Outcome: w.GetOutcome(),
	}
}

func (a *app) webhooks() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List webhooks with their last delivery", Args: noArgs,
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			all, err := client.Webhooks.List(c.Context(), connect.NewRequest(&hubv1.ListWebhooksRequest{}))
			if err != nil {
				return err
			}
			views := []webhookView{}
			for _, w := range all.Msg.GetWebhooks() {
				views = append(views, a.webhookView(w))
			}
			return printList(a, views, func(v webhookView) string { return v.Name },
				col("NAME", func(v webhookView) string { return v.Name }),
				col("PROVIDER", func(v webhookView) string { return v.Provider }),
				col("REPOSITORY", func(v webhookView) string {
					if v.Repository == "" {
						return "(by URL)"
					}
					return v.Repository
				}),
				col("LAST DELIVERY", func(v webhookView) string { return ago(v.DeliveredAge) }),
				col("OUTCOME", func(v webhookView) string { return v.Outcome }),
				col("URL", func(v webhookView) string { return v.URL }),
			)
		}),
	}
	remove := &cobra.Command{
		Use: "delete NAME…", Aliases: []string{"rm"}, Short: "Delete webhooks; later deliveries from their upstreams are refused", Args: atLeast(1),
		RunE: removes(a, "webhook", "deleted", func(ctx context.Context, client *sdk.Client, name string) error {
			_, err := client.Webhooks.Delete(ctx, connect.NewRequest(&hubv1.DeleteWebhookRequest{Name: name}))
			return err
		}),
	}
	return noun("webhooks", "Manage webhooks, with which upstreams announce pushes", []string{"webhook"}, list, a.webhooksCreate(), remove)
}

func (a *app) webhooksCreate() *cobra.Command {
	request := &hubv1.CreateWebhookRequest{}
	var secretFile string
	c := &cobra.Command{
		Use: "create NAME --provider PROVIDER", Short: "Create a webhook; print its URL and, once, its secret",
		Long: `Create a webhook and show what to enter at the upstream: the URL, and the secret,
which is shown only once. A delivery carries no content: it makes the hub check the
named repository at once, before the next poll. Without --repository, one webhook
serves all repositories of the provider.

The generic provider takes any POST whose header X-Axle-Signature is
sha256=<hex HMAC-SHA-256 of the body under the secret>. The body is JSON,
{"url": "https://git.example.com/a/b.git", "ref": "refs/heads/main"}, or empty
when the webhook is restricted to one repository.`,
		Example: `  axle webhooks create github --provider github
  axle webhooks create shop --provider gitlab --repository shop
  axle webhooks create ci --provider generic --repository shop --secret-file ci.secret`,
		Args: exactly(1),
		RunE: a.call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Name = args[0]
			if secretFile != "" {
				text, err := os.ReadFile(secretFile)
				if err != nil {
					return usagef("read --secret-file: %v", err)
				}
				request.Secret = strings.TrimRight(string(text), "\r\n")
			}
			made, err := client.Webhooks.Create(c.Context(), connect.NewRequest(request))
			if err != nil {
				return err
			}
			view := a.webhookView(made.Msg.GetWebhook())
			view.Secret = made.Msg.GetSecret()
			if output.Data(a.output) {
				return a.encode(view)
			}
			fmt.Fprintf(a.Err, "webhook %s created; enter this at the upstream (content type application/json, pushes and tags):\n", view.Name)
			_, err = fmt.Fprintf(a.Out, "URL     %s\nSecret  %s\n", view.URL, view.Secret)
			return err
		}),
	}
	f := c.Flags()
	f.StringVar(&request.Provider, "provider", "", strings.Join(webhookProviders, ", "))
	f.StringVar(&request.Repository, "repository", "", "the only repository that it may refresh (default: any whose URL a delivery names)")
	f.StringVar(&secretFile, "secret-file", "", "file with the secret (default: generate one)")
	_ = c.MarkFlagRequired("provider")
	_ = c.RegisterFlagCompletionFunc("provider", cobra.FixedCompletions(webhookProviders, cobra.ShellCompDirectiveNoFileComp))
	return c
}
