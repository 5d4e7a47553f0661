// Package explain has the command that describes kinds of manifests and their fields, and
// writes their JSON schema for editors.
//
// It reads the definitions of kinds that are built in and the descriptions of api/object,
// and asks no hub: it answers for the version of the command.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
)

// Command returns the command axle explain.
func Command(a *command.App) *cobra.Command {
	var schema bool
	c := &cobra.Command{
		Use:   "explain [KIND[.FIELD...]]",
		Short: "Describe a kind of manifest, or a field of it",
		Long: `Describe a kind of manifest, or a field of it: its type, its values, what is required
and what has no effect. Without a kind, the kinds are listed. No hub is asked.

With --schema, the JSON schema of a kind is printed, or one of all kinds that axle apply
knows. Editors check and complete manifests with it, such as the YAML extension of VS Code
by its setting yaml.schemas.`,
		Example: `  axle explain GlobalService
  axle explain ServiceDeployment.spec.git
  axle explain --schema > axle.schema.json`,
		Args: command.AtMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && schema:
				return writeSchemas(a)
			case len(args) == 0:
				return listKinds(a)
			}
			name, path, _ := strings.Cut(args[0], ".")
			d, err := find(name)
			if err != nil {
				return err
			}
			if schema {
				if path != "" {
					return exitcode.Usagef("--schema is for a kind; leave %s away", path)
				}
				return encode(a, d.schema())
			}
			return d.explain(a, path)
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return names(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().BoolVar(&schema, "schema", false, "print the JSON schema, for editors")
	return c
}

// names are those of all kinds.
func names() (out []string) {
	for _, k := range kinds.All {
		out = append(out, k.Name)
	}
	return out
}

type kindView struct {
	Kind  string `json:"kind"`
	API   string `json:"apiVersion"`
	Level string `json:"support"`
	Text  string `json:"description"`
}

func listKinds(a *command.App) error {
	var all []kindView
	for _, k := range kinds.All {
		all = append(all, kindView{k.Name, k.Group + "/" + version, string(k.Level), text(k)})
	}
	return command.PrintList(a, all, func(v kindView) string { return v.Kind },
		command.Col("KIND", func(v kindView) string { return v.Kind }),
		command.Wide("API", func(v kindView) string { return v.API }),
		command.Col("SUPPORT", func(v kindView) string { return v.Level }),
		command.Col("DESCRIPTION", func(v kindView) string { return v.Text }),
	)
}

// text is a sentence about a kind: that of its description, if it has one.
func text(k kinds.Kind) string {
	if d, described := object.Named(k.Name); described {
		return d.Summary()
	}
	return k.Says
}

// fieldView describes a field, or a whole kind.
type fieldView struct {
	Field    string      `json:"field"`
	Type     string      `json:"type"`
	Required bool        `json:"required,omitempty"`
	Text     string      `json:"description,omitempty"`
	Values   []string    `json:"values,omitempty"`
	Pattern  string      `json:"pattern,omitempty"`
	Default  any         `json:"default,omitempty"`
	Name     string      `json:"name,omitempty"`
	NoEffect bool        `json:"noEffect,omitempty"`
	Fields   []fieldView `json:"fields,omitempty"`
}

// explain prints the kind, or the field of it at a path such as spec.git.
func (d *definition) explain(a *command.App, path string) error {
	at, required := d.root, false
	walked := ""
	for _, step := range strings.FieldsFunc(strings.ReplaceAll(path, "[]", ""), func(r rune) bool { return r == '.' }) {
		inside := at.inside()
		next, ok := inside.Properties[step]
		if !ok {
			return exitcode.Usagef("%s has no field %s; it has %s", strings.TrimSuffix(d.kind.Name+"."+walked, "."), step, strings.Join(command.SortedKeys(inside.Properties), ", "))
		}
		required = slices.Contains(inside.Required, step)
		at, walked = next, strings.TrimPrefix(walked+"."+step, ".")
	}
	view := d.view(walked, at, required)
	if view.Field = strings.TrimSuffix(d.kind.Name+"."+walked, "."); walked == "" {
		view.Text = text(d.kind)
		if described, ok := object.Named(d.kind.Name); ok {
			view.Name = described.NameRule()
		}
	}
	for _, name := range command.SortedKeys(at.inside().Properties) {
		if walked == "" && slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, name) {
			continue
		}
		one := d.view(strings.TrimPrefix(walked+"."+name, "."), at.inside().Properties[name], slices.Contains(at.inside().Required, name))
		one.Field = name
		view.Fields = append(view.Fields, one)
	}
	if output.Data(a.Output) {
		return a.Encode(view)
	}
	d.print(a, view)
	return nil
}

// view describes the field at a path, without those inside.
func (d *definition) view(path string, s *schema, required bool) fieldView {
	v := fieldView{Type: s.named(), Required: required, Text: strings.Join(strings.Fields(s.Description), " "), Pattern: s.inside().Pattern, Default: s.Default}
	for _, word := range s.inside().Enum {
		v.Values = append(v.Values, fmt.Sprint(word))
	}
	v.NoEffect = slices.ContainsFunc(d.kind.NotActing, func(at string) bool { return strings.ReplaceAll(at, "[]", "") == path })
	return v
}

func (d *definition) print(a *command.App, v fieldView) {
	line := func(title, text string) {
		if text != "" {
			fmt.Fprintf(a.Out, "%-12s %s\n", title+":", text)
		}
	}
	line("KIND", d.kind.Name+" ("+d.kind.Group+"/"+version+")")
	line("SUPPORT", string(d.kind.Level))
	line("FIELD", strings.TrimPrefix(strings.TrimPrefix(v.Field, d.kind.Name), "."))
	line("TYPE", v.Type)
	line("NAME", v.Name)
	line("VALUES", strings.Join(v.Values, ", "))
	line("PATTERN", v.Pattern)
	if v.Default != nil {
		line("DEFAULT", fmt.Sprint(v.Default))
	}
	line("REQUIRED", map[bool]string{true: "yes"}[v.Required])
	line("EFFECT", map[bool]string{true: "none: it is kept and nothing acts on it"}[v.NoEffect])
	fmt.Fprintf(a.Out, "\n%s\n", v.Text)
	for i, f := range v.Fields {
		if i == 0 {
			fmt.Fprint(a.Out, "\nFIELDS\n")
		}
		flags := map[bool]string{true: ", required"}[f.Required] + map[bool]string{true: ", no effect"}[f.NoEffect]
		fmt.Fprintf(a.Out, "  %s <%s%s>\n", f.Field, f.Type, flags)
		if f.Text != "" {
			fmt.Fprintf(a.Out, "      %s\n", f.Text)
		}
	}
}
