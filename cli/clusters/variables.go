package clusters

import (
	"encoding/json"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// VariablesCommand returns the command below clusters templates that shows the variables of
// one.
func VariablesCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "variables NAME", Short: "Show the variables of a cluster template",
		Long: `Show the variables that clusters from a template are made with: those of the commit that
new clusters are made of now. axle clusters create takes each with --set NAME=VALUE.
With -o json or -o yaml it is the template's JSON Schema.`,
		Example: "  axle clusters templates variables eks\n  axle clusters templates variables eks -o json",
		Args:    command.Exactly(1),
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			got, err := client.Clusters.GetTemplateVariables(c.Context(), connect.NewRequest(&hubv1.GetTemplateVariablesRequest{Template: args[0]}))
			if err != nil {
				return err
			}
			if !output.Human(a.Output) {
				return command.PrintOne(a, json.RawMessage(got.Msg.GetSchema()), func(json.RawMessage) string { return args[0] })
			}
			all, err := variablesIn(got.Msg.GetSchema())
			if err != nil {
				return err
			}
			return command.PrintList(a, all, func(v variable) string { return v.Name },
				command.Col("NAME", func(v variable) string { return v.Name }),
				command.Col("TYPE", variable.kind),
				command.Col("REQUIRED", func(v variable) string { return map[bool]string{true: "yes"}[v.required] }),
				command.Col("DEFAULT", func(v variable) string { return string(v.Default) }),
				command.Col("DESCRIPTION", func(v variable) string { return v.Description }),
			)
		}),
	}
}

// variable is a property of a schema.
type variable struct {
	Name        string            `json:"-"`
	Type        json.RawMessage   `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Description string            `json:"description"`
	required    bool
}

// kind is the type, or the values that there are.
func (v variable) kind() string {
	if len(v.Enum) == 0 {
		return strings.Trim(string(v.Type), `"`)
	}
	var words []string
	for _, one := range v.Enum {
		words = append(words, strings.Trim(string(one), `"`))
	}
	return strings.Join(words, ", ")
}

// variablesIn are the properties of a schema: those first that are required, by name.
func variablesIn(schema string) (all []variable, _ error) {
	var s struct {
		Properties map[string]variable `json:"properties"`
		Required   []string            `json:"required"`
	}
	if err := bounded.JSON([]byte(schema), &s, maxVariables); err != nil {
		return nil, errcode.New(errcode.Unprocessable, "the schema of the template cannot be read: %w; -o json shows it", err)
	}
	for _, name := range command.SortedKeys(s.Properties) {
		v := s.Properties[name]
		v.Name, v.required = name, slices.Contains(s.Required, name)
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b variable) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return all, nil
}
