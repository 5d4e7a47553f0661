package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/confirm"
	"github.com/axle-cd/axle/cli/output"
)

// questions are asked on a terminal before a command destroys something that
// cannot be brought back by the opposite command. %s is the arguments.
var questions = withDescribed(map[string]string{
	"agents abort":                 "Abort the agent upgrade and roll agents back",
	"applications end":             "End the logins to %s (application, with their refresh tokens)",
	"clusters delete":              "Delete %s from the hub (cluster; its tokens are revoked)",
	"clusters delete --detach":     "Delete %s from the hub (cluster; its tokens are revoked, the objects of its services stay)",
	"clusters destroy":             "Destroy %s (cluster, WITH ITS MACHINES and what runs on them)",
	"clusters orphans remove":      "Remove %s (cluster, service that the hub does not know; its objects are DELETED)",
	"clusters machines replace":    "Replace %s (cluster, machine; its pods are evicted and it is DELETED)",
	"federation delete":            "Delete %s (trust; its CI jobs can no longer log in)",
	"globalservices delete":        "Delete %s (global service; its services are deleted too, unless its cascade keeps them)",
	"namespaces delete":            "Stop managing %s (with --cascade delete, the namespace and everything in it is deleted on its clusters)",
	"groups delete":                "Delete %s (group, with its bindings)",
	"hub confirm-restore":          "Let agents delete again, also objects that the restored hub does not know",
	"notifications sinks delete":   "Delete %s (notification sink, with what waits for it)",
	"notifications routers delete": "Delete %s (notification router)",
	"outputs delete":               "Delete %s (outputs, with their values)",
	"projects delete":              "Delete %s (project)",
	"providers delete":             "Delete %s (login provider, with its sessions and group memberships)",
	"repos delete":                 "Delete %s (repository)",
	"rollouts abort":               "Take all clusters of %s back to what they had (rollout)",
	"serviceaccounts delete":       "Delete %s (service account, with its tokens)",
	"servicecontexts delete":       "Delete %s (service context, with its values)",
	"services approve-prune":       "Delete the objects that the held prune of %s named",
	"services delete":              "Delete %s (service, with all its objects on the cluster)",
	"services delete --detach":     "Delete %s (service; its objects stay on the cluster)",
	"sessions end":                 "End %s (session, with the tokens that it made)",
	"sessions end --all":           "End all sessions and command-line logins",
	"tokens revoke":                "Revoke %s (token)",
	"users delete":                 "Delete %s (user, with their tokens, bindings and group memberships)",
	"webhooks delete":              "Delete %s (webhook)",
	"uninstall":                    "Remove the hub and its operator from the cluster (their data stays)",
	"uninstall --delete-data":      "Remove the hub and its operator from the cluster, WITH ALL DATA of the hub",
})

// withDescribed adds the questions for the kinds in the hub's table of objects.
func withDescribed(questions map[string]string) map[string]string {
	for _, k := range object.Stored() {
		questions[k.Noun+" delete"] = "Delete %s (" + k.Storage.Called + ")"
	}
	return questions
}

// askFirst adds --yes and a question to each command of questions.
func askFirst(a *command.App, c *cobra.Command) {
	for _, sub := range c.Commands() {
		askFirst(a, sub)
	}
	path, _ := strings.CutPrefix(c.CommandPath(), "axle ")
	if questions[path] == "" {
		return
	}
	var yes bool
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation; without a terminal the command never asks")
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if on(c, "dry-run") {
			return run(c, args)
		}
		text := questions[path]
		for _, flag := range []string{"detach", "all", "delete-data"} {
			if other := questions[path+" --"+flag]; other != "" && on(c, flag) {
				text = other
			}
		}
		q := confirm.Question{
			Terminal: a.Interactive() && output.IsTerminal(a.Err), Yes: yes, In: a.In, Err: a.Err,
			Text: strings.ReplaceAll(text, "%s", strings.Join(args, ", ")), Word: word(path, args), Command: confirm.Line(slices.Concat([]string{"axle"}, a.Args, []string{"--yes"})),
		}
		if err := q.Ask(); err != nil {
			return err
		}
		return run(c, args)
	}
}

// typed are the questions that are answered with what they are about.
var typed = []string{"clusters destroy"}

// word is typed to answer the question of a command; empty is yes.
func word(path string, args []string) string {
	if slices.Contains(typed, path) {
		return strings.Join(args, " ")
	}
	return ""
}

// on reports whether a command has a flag and it is true.
func on(c *cobra.Command, flag string) bool {
	is, err := c.Flags().GetBool(flag)
	return err == nil && is
}
