package values

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/internal/errcode"
)

// valueSetView is a context or outputs as -o json and -o yaml show it.
type valueSetView struct {
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

	ManagedBy command.ManagerView `json:"managedBy"`
}

func newValueSetView(a *command.App, c *hubv1.Context) valueSetView {
	v := valueSetView{
		Name: c.GetName(), Project: c.GetProject(), Values: map[string]any{}, Secrets: slices.Sorted(maps.Keys(c.GetSecrets())),
		Services: c.GetServices(), Version: c.GetVersion(), UpdatedAt: fields.Stamp(c.GetUpdatedAt()), UpdatedAge: a.Age(c.GetUpdatedAt()), UpdatedBy: c.GetUpdatedBy(),
		ManagedBy: command.NewManagerView(c.GetManagedBy()),
	}
	if v.Secrets == nil {
		v.Secrets = []string{}
	}
	// The hub wrote it. If it cannot be parsed, no values are shown.
	_ = json.Unmarshal([]byte(c.GetValues()), &v.Values)
	return v
}

// keys are all keys, including those of secrets, for a table.
func (v valueSetView) keys() string {
	all := slices.Sorted(maps.Keys(v.Values))
	for _, key := range v.Secrets {
		all = append(all, key+" (secret)")
	}
	return strings.Join(all, ", ")
}

func printValueSets(a *command.App, all []*hubv1.Context) error {
	views := []valueSetView{}
	for _, c := range all {
		views = append(views, newValueSetView(a, c))
	}
	return command.PrintList(a, views, func(v valueSetView) string { return v.Name },
		command.Col("NAME", func(v valueSetView) string { return v.Name }),
		command.Col("PROJECT", func(v valueSetView) string { return cmp.Or(v.Project, "(all)") }),
		command.Col("SERVICES", func(v valueSetView) string { return fmt.Sprint(v.Services) }),
		command.Col("VERSION", func(v valueSetView) string { return fmt.Sprint(v.Version) }),
		command.Col("UPDATED", func(v valueSetView) string { return command.Ago(v.UpdatedAge) }),
		command.Wide("MANAGED BY", func(v valueSetView) string { return v.ManagedBy.String() }),
		command.Col("KEYS", valueSetView.keys),
	)
}

func printValueSet(a *command.App, c *hubv1.Context) error {
	return command.PrintOne(a, newValueSetView(a, c), func(v valueSetView) string { return v.Name },
		command.Col("Name", func(v valueSetView) string { return v.Name }),
		command.Col("Project", func(v valueSetView) string { return cmp.Or(v.Project, "(all)") }),
		command.Col("Services", func(v valueSetView) string { return fmt.Sprint(v.Services) }),
		command.Col("Version", func(v valueSetView) string {
			return fmt.Sprintf("%d, by %s %s", v.Version, v.UpdatedBy, command.Ago(v.UpdatedAge))
		}),
		command.Col("Managed by", func(v valueSetView) string { return v.ManagedBy.String() }),
		command.Col("Values", func(v valueSetView) string {
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
		}),
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

// newContext builds the context to store from KEY=VALUE arguments and flags. A
// value that is valid JSON is stored as JSON.
func newContext(a *command.App, v valueFlags, name string, pairs []string) (*hubv1.Context, error) {
	values := map[string]any{}
	if v.file != "" {
		text, err := readFile(a, v.file)
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
			return nil, exitcode.Usagef("%q is not KEY=VALUE", pair)
		}
		var value any
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		values[key] = value
	}
	secrets, err := a.SecretValues(v.secrets)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	return &hubv1.Context{Name: name, Project: v.project, Values: string(text), Secrets: secrets}, nil
}

func readFile(a *command.App, path string) ([]byte, error) {
	if path == "-" {
		text, err := a.ReadSecret("file", path, true)
		return []byte(text), err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	return text, nil
}
