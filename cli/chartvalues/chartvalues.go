// Package chartvalues puts --set and its like into the values of a chart, with
// Helm's own parser: nested keys, lists, null, and texts. It keeps what is
// there beside. cli's flags of services call it; what is rendered is not its
// concern.
package chartvalues

import (
	"os"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/errcode"
)

// Sets are the flags, each in the order of the command line. Helm takes --set
// first, then --set-string, then --set-file.
type Sets struct{ Plain, Strings, Files []string }

// Any reports whether one was given.
func (s Sets) Any() bool { return len(s.Plain)+len(s.Strings)+len(s.Files) > 0 }

// Into returns the values, YAML, with what the flags set. Invalid, with the
// flag's text. Comments in the values are lost.
func (s Sets) Into(values string) (string, error) {
	if !s.Any() {
		return values, nil
	}
	tree := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &tree); err != nil {
		return "", errcode.New(errcode.Invalid, "the values that --set adds to are no YAML map: %w", err)
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
				return "", errcode.New(errcode.Invalid, "%s %q: %w; it is written as Helm's, such as image.tag=v2, list[0]=a or list={a,b}; values for templates are --var", set.flag, text, err)
			}
		}
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		return "", errcode.New(errcode.Invalid, "the values cannot be written: %w", err)
	}
	return string(out), nil
}
