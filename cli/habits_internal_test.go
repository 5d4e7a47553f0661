package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/axle-cd/axle/cli/command"
)

// every calls do for each command, with its path without "axle".
func every(t *testing.T, do func(c *cobra.Command, path string)) {
	t.Helper()
	n := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		n++
		do(c, strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "axle"), " "))
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	a := &command.App{Args: []string{cobra.ShellCompRequestCmd}, Getenv: os.Getenv, Now: time.Now}
	walk(newRoot(a))
	if n < 100 {
		t.Fatalf("only %d commands were found", n)
	}
}

// objects are the words of flags that name an object.
var objects = []string{"cluster", "clusters", "template", "project", "repo", "repository", "service", "user", "group", "account", "context", "backend", "trust", "bind", "import"}

// others are flags with such a word that name no object of the hub, with what
// they name.
var others = map[string]string{
	"telemetry-sources apply --cluster-label": "a label of a store",
	"telemetry-sources apply --cluster-value": "a value of a label",
	"providers create --group":                "VALUE=GROUP, and VALUE comes first",
	"providers try --group":                   "VALUE=GROUP, and VALUE comes first",
	"providers update --group":                "VALUE=GROUP, and VALUE comes first",
	"services create --service-account":       "an account of the cluster",
	"services update --service-account":       "an account of the cluster",
	"globalservices create --service-account": "an account of the cluster",
	"globalservices apply --service-account":  "an account of the cluster",
	"namespaces create --service-account":     "an account of the cluster",
	"namespaces update --service-account":     "an account of the cluster",
	"projects create --service-account":       "an account of the cluster",
	"projects update --service-account":       "an account of the cluster",
	"install --kube-context":                  "a context of a kubeconfig",
	"upgrade --kube-context":                  "a context of a kubeconfig",
	"preflight --kube-context":                "a context of a kubeconfig",
	"uninstall --kube-context":                "a context of a kubeconfig",
	"up local --kube-context":                 "a context of a kubeconfig",
	"down --kube-context":                     "a context of a kubeconfig",
	"clusters connect --kube-context":         "a context of a kubeconfig",
	"clusters oidc --kube-context":            "a context of a kubeconfig",
	"hub support-bundle --kube-context":       "a context of a kubeconfig",
	"projects create --allow-account":         "an account in a cluster",
	"projects update --allow-account":         "an account in a cluster",
	"logs --after-context":                    "a number of lines",
	"logs --before-context":                   "a number of lines",
	"logs --context-lines":                    "a number of lines",
	"projects create --max-clusters":          "a number",
	"projects update --max-clusters":          "a number",
}

// What names an object is completed: who types at three in the morning does
// not know the names.
func TestEveryFlagThatNamesAnObjectIsCompleted(t *testing.T) {
	n := 0
	used := map[string]bool{}
	every(t, func(c *cobra.Command, path string) {
		check := func(f *pflag.Flag) {
			words := strings.Split(f.Name, "-")
			names := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(objects, w) })
			if !names || f.Value.Type() == "bool" || words[len(words)-1] == "file" {
				return
			}
			n++
			flag := strings.TrimSpace(path + " --" + f.Name)
			_, ok := c.GetFlagCompletionFunc(f.Name)
			_, other := others[flag]
			used[flag] = true
			if ok == other {
				t.Errorf("axle %s: completed: %v, listed as naming no object: %v", flag, ok, other)
			}
		}
		c.Flags().VisitAll(check)
		c.PersistentFlags().VisitAll(check)
	})
	if n < 30 {
		t.Errorf("only %d flags were found", n)
	}
	for flag := range others {
		if !used[flag] {
			t.Errorf("axle %s does not exist", flag)
		}
	}
}

// The first argument of what acts on one thing of a kind is completed.
func TestEveryNameOfAnObjectIsCompleted(t *testing.T) {
	every(t, func(c *cobra.Command, path string) {
		if verb := c.Name(); slices.Contains([]string{"get", "delete", "update", "revoke", "end", "set"}, verb) && path != "hub sync-windows set" && c.ValidArgsFunction == nil {
			t.Errorf("axle %s does not complete its argument", path)
		}
	})
}

// Verbs of services that take a selection ask what to do with it, and have their own question.
func TestWhatDestroysAsks(t *testing.T) {
	found := map[string]bool{}
	every(t, func(c *cobra.Command, path string) {
		found[path] = true
		destroys := slices.Contains([]string{"delete", "destroy", "replace", "revoke", "end", "abort", "approve-prune", "confirm-restore", "uninstall", "remove"}, c.Name())
		if c.Flags().Lookup("all") != nil && strings.HasPrefix(path, "services ") {
			return
		}
		if asks := c.Flags().Lookup("yes") != nil; asks != destroys || asks != (questions[path] != "") {
			t.Errorf("axle %s: has --yes: %v, destroys: %v, has a question: %v", path, asks, destroys, questions[path] != "")
		}
	})
	for path := range questions {
		path, flag, _ := strings.Cut(path, " --")
		if !found[path] {
			t.Errorf("axle %s does not exist", path)
		}
		if flag != "" && flag != "detach" && flag != "all" && flag != "delete-data" {
			t.Errorf("the question of axle %s --%s is never asked", path, flag)
		}
	}
}

// Several of a kind are got and deleted at once. The first argument of axle get is a kind.
func TestGetAndDeleteTakeSeveralNames(t *testing.T) {
	every(t, func(c *cobra.Command, path string) {
		if verb := c.Name(); (verb == "get" || verb == "delete") && path != "get" && !takesSeveral(c) {
			t.Errorf("axle %s takes one name: %s", path, c.Use)
		}
	})
}
