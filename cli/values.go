package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
)

// bagView is a context or outputs as -o json and -o yaml show it.
type bagView struct {
	Name    string         `json:"name"`
	Project string         `json:"project"`
	Values  map[string]any `json:"values"`
	// Secrets lists the keys only.
	Secrets    []string `json:"secrets"`
	Services   int32    `json:"services"`
	Version    int64    `json:"version"`
	UpdatedAt  string   `json:"updatedAt"`
	UpdatedAge string   `json:"updatedAge"`
	UpdatedBy  string   `json:"updatedBy"`
}

func (a *app) bagView(c *hubv1.Context) bagView {
	v := bagView{
		Name: c.GetName(), Project: c.GetProject(), Values: map[string]any{}, Secrets: slices.Sorted(maps.Keys(c.GetSecrets())),
		Services: c.GetServices(), Version: c.GetVersion(), UpdatedAt: stamp(c.GetUpdatedAt()), UpdatedAge: a.age(c.GetUpdatedAt()), UpdatedBy: c.GetUpdatedBy(),
	}
	if v.Secrets == nil {
		v.Secrets = []string{}
	}
	// The hub wrote it. If it cannot be parsed, no values are shown.
	_ = json.Unmarshal([]byte(c.GetValues()), &v.Values)
	return v
}

// keys are all keys, including those of secrets, for a table.
func (v bagView) keys() string {
	all := slices.Sorted(maps.Keys(v.Values))
	for _, key := range v.Secrets {
		all = append(all, key+" (secret)")
	}
	return strings.Join(all, ", ")
}

func (a *app) printBags(all []*hubv1.Context) error {
	views := []bagView{}
	for _, c := range all {
		views = append(views, a.bagView(c))
	}
	return printList(a, views, func(v bagView) string { return v.Name },
		column[bagView]{"NAME", func(v bagView) string { return v.Name }},
		column[bagView]{"PROJECT", func(v bagView) string { return first(v.Project, "(all)") }},
		column[bagView]{"SERVICES", func(v bagView) string { return fmt.Sprint(v.Services) }},
		column[bagView]{"VERSION", func(v bagView) string { return fmt.Sprint(v.Version) }},
		column[bagView]{"UPDATED", func(v bagView) string { return ago(v.UpdatedAge) }},
		column[bagView]{"KEYS", bagView.keys},
	)
}

func (a *app) printBag(c *hubv1.Context) error {
	return printOne(a, a.bagView(c), func(v bagView) string { return v.Name },
		column[bagView]{"Name", func(v bagView) string { return v.Name }},
		column[bagView]{"Project", func(v bagView) string { return first(v.Project, "(all)") }},
		column[bagView]{"Services", func(v bagView) string { return fmt.Sprint(v.Services) }},
		column[bagView]{"Version", func(v bagView) string { return fmt.Sprintf("%d, by %s %s", v.Version, v.UpdatedBy, ago(v.UpdatedAge)) }},
		column[bagView]{"Values", func(v bagView) string {
			var lines []string
			for _, key := range slices.Sorted(maps.Keys(v.Values)) {
				text, err := json.Marshal(v.Values[key])
				if err != nil {
					continue
				}
				lines = append(lines, key+"="+string(text))
			}
			for _, key := range v.Secrets {
				lines = append(lines, key+" (secret)")
			}
			return strings.Join(lines, "\n")
		}},
	)
}

// valueFlags are the flags that give values.
type valueFlags struct {
	file    string
	secrets []string
	project string
	global  bool
}

func (v *valueFlags) flags(c *cobra.Command) {
	c.Flags().StringVarP(&v.file, "file", "f", "", "YAML or JSON file with an object of values; - for standard input")
	c.Flags().StringArrayVar(&v.secrets, "secret", nil, "secret value, KEY=FILE; FILE can be - for standard input or env:NAME for an environment variable")
}

// home adds the flags for where values belong.
func (v *valueFlags) home(c *cobra.Command, project string) {
	c.Flags().StringVar(&v.project, "project", "", project)
	c.Flags().BoolVar(&v.global, "global", false, "let services of every project use them from now on")
	c.MarkFlagsMutuallyExclusive("project", "global")
}

// secretValues parses KEY=FILE.
func (a *app) secretValues(pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		key, from, ok := strings.Cut(pair, "=")
		if !ok || key == "" || from == "" {
			return nil, usagef("--secret %q is not KEY=FILE; FILE may be - or env:NAME, so that the value does not appear in process lists", key)
		}
		value, err := a.readSecret("secret", from, true)
		if err != nil {
			return nil, err
		}
		if value == "" {
			return nil, usagef("the secret %s is empty", key)
		}
		values[key] = value
	}
	return values, nil
}

// context builds the context to store from KEY=VALUE arguments and flags. A
// value that is valid JSON is stored as JSON.
func (a *app) context(v valueFlags, name string, pairs []string) (*hubv1.Context, error) {
	values := map[string]any{}
	if v.file != "" {
		text, err := a.readFile(v.file)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(text, &values); err != nil {
			return nil, errcode.New(errcode.Invalid, "--file %s is not an object of values: %w", v.file, err)
		}
	}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("%q is not KEY=VALUE", pair)
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		values[key] = value
	}
	secrets, err := a.secretValues(v.secrets)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return &hubv1.Context{Name: name, Project: v.project, Values: string(text), Secrets: secrets}, nil
}

func (a *app) readFile(path string) ([]byte, error) {
	if path == "-" {
		text, err := a.readSecret("file", path, false)
		return []byte(text), err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	return text, nil
}

func (a *app) contexts() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List contexts with their keys", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			all, err := client.Contexts.List(c.Context(), connect.NewRequest(&hubv1.ListContextsRequest{}))
			if err != nil {
				return err
			}
			return a.printBags(all.Msg.GetContexts())
		},
	}
	get := &cobra.Command{
		Use: "get NAME", Short: "Show a context; of secrets only the keys", Args: exactly(1), ValidArgsFunction: a.completeContexts(),
		Example: "  axle contexts get prod\n  axle contexts get prod -o json | jq .values",
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			one, err := client.Contexts.Get(c.Context(), connect.NewRequest(&hubv1.GetContextRequest{Name: args[0]}))
			if err != nil {
				return err
			}
			return a.printBag(one.Msg)
		},
	}
	remove := &cobra.Command{
		Use: "delete NAME…", Aliases: []string{"rm"}, Short: "Delete contexts that no service uses", Args: atLeast(1), ValidArgsFunction: a.completeContexts(),
		Example: "  axle contexts delete prod",
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			for _, name := range args {
				if _, err := client.Contexts.Delete(c.Context(), connect.NewRequest(&hubv1.DeleteContextRequest{Name: name})); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				fmt.Fprintf(a.Err, "context %s deleted\n", name)
			}
			return nil
		},
	}
	return noun("contexts", "Manage contexts, named values that services share", []string{"context-values"}, list, get, a.contextsCreate(), a.contextsSet(), remove)
}

func (a *app) contextsCreate() *cobra.Command {
	var v valueFlags
	c := &cobra.Command{
		Use: "create NAME [KEY=VALUE…]", Short: "Create a context", Args: atLeast(1),
		Example: `  axle contexts create prod region=eu-1 replicas=3 --secret dbPassword=db.password
  axle contexts create shared -f values.yaml --project shop`,
		RunE: func(c *cobra.Command, args []string) error {
			made, err := a.context(v, args[0], args[1:])
			if err != nil {
				return err
			}
			client, err := a.client()
			if err != nil {
				return err
			}
			one, err := client.Contexts.Create(c.Context(), connect.NewRequest(&hubv1.CreateContextRequest{Context: made}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "context %s created\n", args[0])
			return a.printBag(one.Msg)
		},
	}
	v.flags(c)
	c.Flags().StringVar(&v.project, "project", "", "let only services of this project use it (default: all)")
	return c
}

func (a *app) contextsSet() *cobra.Command {
	var v valueFlags
	var unset []string
	var replace bool
	c := &cobra.Command{
		Use: "set NAME [KEY=VALUE…]", Short: "Change values of a context; services that use it get a new revision", Args: atLeast(1), ValidArgsFunction: a.completeContexts(),
		Example: `  axle contexts set prod replicas=5 --unset region
  axle contexts set prod --secret dbPassword=env:DB_PASSWORD`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && v.file == "" && len(v.secrets)+len(unset) == 0 && !replace && v.project == "" && !v.global {
				return usagef("give something to change: KEY=VALUE, --file, --secret, --unset, --project or --global")
			}
			changed, err := a.context(v, args[0], args[1:])
			if err != nil {
				return err
			}
			client, err := a.client()
			if err != nil {
				return err
			}
			one, err := client.Contexts.Update(c.Context(), connect.NewRequest(&hubv1.UpdateContextRequest{Context: changed, Merge: !replace, Unset: unset, Global: v.global}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "context %s is at version %d, used by %d services\n", args[0], one.Msg.GetVersion(), one.Msg.GetServices())
			return a.printBag(one.Msg)
		},
	}
	v.flags(c)
	c.Flags().StringArrayVar(&unset, "unset", nil, "key to remove")
	c.Flags().BoolVar(&replace, "replace", false, "remove every value that is not given")
	v.home(c, "move it to this project, so that only its services may use it (default: do not move)")
	return c
}

func (a *app) outputs() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List outputs with their keys", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			all, err := client.Outputs.List(c.Context(), connect.NewRequest(&hubv1.ListOutputsRequest{}))
			if err != nil {
				return err
			}
			return a.printBags(all.Msg.GetOutputs())
		},
	}
	remove := &cobra.Command{
		Use: "delete NAME…", Aliases: []string{"rm"}, Short: "Delete outputs that no service imports", Args: atLeast(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.client()
			if err != nil {
				return err
			}
			for _, name := range args {
				if _, err := client.Outputs.Delete(c.Context(), connect.NewRequest(&hubv1.DeleteOutputsRequest{Name: name})); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				fmt.Fprintf(a.Err, "outputs %s deleted\n", name)
			}
			return nil
		},
	}
	return noun("outputs", "Manage outputs, named values that services import", []string{"output"}, list, a.outputsPut(), remove)
}

func (a *app) outputsPut() *cobra.Command {
	var v valueFlags
	c := &cobra.Command{
		Use: "put NAME [KEY=VALUE…]", Short: "Store outputs, in place of the present ones of that name", Args: atLeast(1),
		Example: `  terraform output -json | jq 'map_values(.value)' | axle outputs put network -f -
  axle outputs put database host=db.internal --secret password=env:DB_PASSWORD`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && v.file == "" && len(v.secrets) == 0 {
				// Storing nothing would delete all present values.
				return usagef("give something to store: KEY=VALUE, --secret or --file; to remove all: axle outputs delete %s", args[0])
			}
			outputs, err := a.context(v, args[0], args[1:])
			if err != nil {
				return err
			}
			client, err := a.client()
			if err != nil {
				return err
			}
			one, err := client.Outputs.Put(c.Context(), connect.NewRequest(&hubv1.PutOutputsRequest{Outputs: outputs, Global: v.global}))
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "outputs %s are at version %d, imported by %d services\n", args[0], one.Msg.GetVersion(), one.Msg.GetServices())
			return a.printBag(one.Msg)
		},
	}
	v.flags(c)
	v.home(c, "let only services of this project import them (default: unchanged; all projects for new outputs)")
	return c
}
