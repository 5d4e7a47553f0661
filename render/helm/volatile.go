package helm

import (
	"regexp"
	"slices"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// generators are the template functions whose result differs each time. keys and
// values list a map in random order.
var generators = regexp.MustCompile(`\b(rand[A-Z]\w*|gen[A-Z]\w*|uuidv4|shuffle|htpasswd|bcrypt|encryptAES|buildCustomCert)\b|\b(?:keys|values)\s+[.$(]`)

// generatesIn reports whether values may generate through tpl, or did so as templates
// themselves.
func (r Request) generatesIn(texts []valuesText) bool {
	return (r.Liquid != nil && r.Liquid.Generated()) || slices.ContainsFunc(texts, func(t valuesText) bool {
		return t.generates || generators.Match(t.text)
	})
}

// generates reports whether a template or a chart's values may generate.
func (rel *release) generates() bool {
	return slices.ContainsFunc(rel.templates(), generators.Match)
}

// templates are all texts of the chart and its subcharts that the engine may run:
// templates, and values and files that may be passed to tpl.
func (rel *release) templates() [][]byte {
	var texts [][]byte
	var walk func(c *chart.Chart)
	walk = func(c *chart.Chart) {
		for _, f := range c.Raw {
			texts = append(texts, f.Data)
		}
		for _, sub := range c.Dependencies() {
			walk(sub)
		}
	}
	walk(rel.chart)
	return texts
}
