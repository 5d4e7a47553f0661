package references

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// externals parses the same text again, for line numbers.
func externals(raw []byte) (external []External) {
	fields := mapping(raw)
	home := "charts"
	for _, f := range fields {
		if f.name == "helmGlobals" {
			if set := child(f.value, "chartHome"); set != "" {
				home = set
			}
		}
	}
	for _, f := range fields {
		switch {
		case referring[f.name]:
			for _, entry := range f.value.Content {
				if entry.Kind != yaml.ScalarNode || strings.Contains(entry.Value, "\n") || !Remote(entry.Value) {
					continue
				}
				n := ParseBase(entry.Value)
				n.Line = entry.Line
				external = append(external, n)
			}
		case f.name == "helmCharts" || f.name == "helmChartInflationGenerator":
			for _, entry := range f.value.Content {
				if n, ok := inflated(f.name == "helmCharts", home, entry); ok {
					external = append(external, n)
				}
			}
		}
	}
	return external
}

func inflated(present bool, home string, entry *yaml.Node) (External, bool) {
	n := External{Kind: Inflated, Line: entry.Line, Name: child(entry, "name"), URL: child(entry, "repo"), Version: child(entry, "version")}
	if !present {
		n.Name, n.URL, n.Version = child(entry, "chartName"), child(entry, "chartRepoUrl"), child(entry, "chartVersion")
		if set := child(entry, "chartHome"); set != "" {
			home = set
		}
	}
	n.Text = n.Name
	if n.Name == "" || n.URL == "" {
		return n, false // the renderer looks in its home, and has the better error
	}
	n.Home = ChartHome(home, n.Name, n.Version)
	n.Problem = chartProblem(n.URL, n.Name)
	return n, true
}

// field is one entry of a YAML mapping.
type field struct {
	name  string
	value *yaml.Node
}

// mapping returns the fields of a document that is an object.
func mapping(raw []byte) []field {
	var doc yaml.Node
	if yaml.Unmarshal(raw, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}
	return fieldsOf(doc.Content[0])
}

func fieldsOf(n *yaml.Node) (out []field) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value := n.Content[i+1]
		if value.Kind == yaml.AliasNode && value.Alias != nil {
			value = value.Alias
		}
		out = append(out, field{n.Content[i].Value, value})
	}
	return out
}

// child returns the text of a field of an object.
func child(n *yaml.Node, name string) string {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for _, f := range fieldsOf(n) {
		if f.name == name && f.value.Kind == yaml.ScalarNode && f.value.Tag != "!!null" {
			return f.value.Value
		}
	}
	return ""
}
