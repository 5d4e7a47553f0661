// Package examples holds the examples of commands whose help needs only one or
// two lines of use. Other commands have theirs beside their code. A test of cli
// reads each as a shell would, and fails for a command without one.
package examples

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples are by the path of their command, without "axle".
var examples = map[string]string{
	"agents abort":           "axle agents abort",
	"agents pause":           "axle agents pause",
	"agents resume":          "axle agents resume",
	"agents status":          "axle agents status\naxle agents status --watch",
	"auth bindings":          "axle auth bindings\naxle auth bindings -o json",
	"clusters approve":       "axle clusters approve edge-1",
	"clusters create":        "axle clusters create edge-1 --tag tier=edge > bootstrap.token\naxle clusters create edge-1 --renew-token > bootstrap.token",
	"clusters credential":    "axle clusters credential edge-1",
	"clusters delete":        "axle clusters delete edge-1\naxle clusters delete edge-1 --detach",
	"clusters get":           "axle clusters get edge-1\naxle clusters get edge-1 -o json",
	"clusters update":        "axle clusters update edge-1 --tag tier=prod,region=eu",
	"backends rotate-key":    "axle backends rotate-key",
	"servicecontexts list":   "axle servicecontexts list",
	"federation delete":      "axle federation delete github",
	"federation list":        "axle federation list",
	"groups add-member":      `axle groups add-member "web team" ann@example.com`,
	"groups create":          `axle groups create "web team" --description "team of the shop"`,
	"groups delete":          `axle groups delete "web team"`,
	"groups get":             `axle groups get "web team"`,
	"groups list":            "axle groups list",
	"groups remove-member":   `axle groups remove-member "web team" ann@example.com`,
	"hub confirm-restore":    "axle services list\naxle hub confirm-restore",
	"hub status":             "axle hub status\naxle hub status -o json",
	"hub sync-windows list":  "axle hub sync-windows list",
	"logout":                 "axle logout\naxle logout --everywhere --tokens",
	"outputs delete":         "axle outputs delete database",
	"outputs list":           "axle outputs list",
	"projects delete":        "axle projects delete shop",
	"projects get":           "axle projects get shop",
	"projects list":          "axle projects list",
	"providers delete":       "axle providers delete okta",
	"providers list":         "axle providers list",
	"providers unlink":       "axle providers unlink ann@example.com",
	"repos delete":           "axle repos delete fleet",
	"repos get":              "axle repos get fleet",
	"repos list":             "axle repos list\naxle repos list --project shop -o json",
	"repos refresh":          "axle repos refresh fleet --wait",
	"repos update":           "axle repos update fleet --username ci --password-file token\naxle repos update fleet --url https://git.example.com/moved/fleet.git --username ci --password-file token\naxle repos update fleet --auth none",
	"serviceaccounts delete": "axle serviceaccounts delete ci",
	"serviceaccounts list":   "axle serviceaccounts list",
	"services approve-prune": "axle services diff edge-1/web\naxle services approve-prune edge-1/web",
	"services config unset":  "axle services config unset edge-1/web replicas",
	"services delete":        "axle services delete edge-1/web --dry-run\naxle services delete edge-1/web\naxle services delete edge-1/web --detach",
	"services get":           "axle services get edge-1/web\naxle services get edge-1/web -o json",
	"services pause":         "axle services pause edge-1/web edge-2/web",
	"services resume":        "axle services resume edge-1/web --wait",
	"services revisions":     "axle services revisions edge-1/web",
	"sessions list":          "axle sessions list\naxle sessions list --user ann@example.com",
	"tokens list":            "axle tokens list",
	"tokens revoke":          "axle tokens revoke tok_abc",
	"users delete":           "axle users delete leaver@example.com",
	"users list":             "axle users list",
	"version":                "axle version\naxle version --client -o json",
	"webhooks delete":        "axle webhooks delete github",
	"webhooks list":          "axle webhooks list",
	"whoami":                 "axle whoami",
}

// Add sets the example of each command below c that has none.
func Add(c *cobra.Command) {
	for _, sub := range c.Commands() {
		Add(sub)
	}
	path, _ := strings.CutPrefix(c.CommandPath(), "axle ")
	if text := examples[path]; text != "" && c.Example == "" {
		c.Example = "  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
}
