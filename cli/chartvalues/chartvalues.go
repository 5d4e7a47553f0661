// Package chartvalues applies --set and similar flags to a chart's values with Helm's
// own parser: nested keys, lists, null, and strings. It keeps all other values. The
// flags of cli/services call it; it does not render.
package chartvalues

import (
	"os"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/errcode"
)

// Sets are the flags, each in the order of the command line. As in Helm, --set
// applies first, then --set-string, then --set-file.
type Sets struct{ Plain, Strings, Files []string }

// Any reports whether any flag was given.
func (s Sets) Any() bool { return len(s.Plain)+len(s.Strings)+len(s.Files) > 0 }

// Into returns the values, as YAML, with the flags applied. An Invalid error quotes
// the flag. Comments in the values are lost.
func (s Sets) Into(values string) (string, error) {
	if !s.Any() {
		return values, nil
	}
	tree := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &tree); err != nil {
		return "", errcode.New(errcode.Invalid, "the values that --set applies to are not a YAML map: %w", err)
	}
	if tree == nil {
		tree = map[string]any{}
	}
	read := func(runes []rune) (any, error) {
		data, err := os.ReadFile(string(runes))
		return string(data), err
	}
	for _, set := range []struct {
		flag  string
		texts []string
		parse func(string) error
	}{
		{"--set", s.Plain, func(text string) error { return strvals.ParseInto(text, tree) }},
		{"--set-string", s.Strings, func(text string) error { return strvals.ParseIntoString(text, tree) }},
		{"--set-file", s.Files, func(text string) error { return strvals.ParseIntoFile(text, tree, read) }},
	} {
		for _, text := range set.texts {
			if err := set.parse(text); err != nil {
				return "", errcode.New(errcode.Invalid, "%s %q: %w; use Helm's syntax, such as image.tag=v2, list[0]=a or list={a,b}; for values of templates use --var", set.flag, text, err)
			}
		}
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		return "", errcode.New(errcode.Invalid, "encode the values: %w", err)
	}
	return string(out), nil
}
