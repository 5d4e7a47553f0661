package helm

import (
	"bytes"
	"reflect"
	"slices"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// The names of template functions whose result differs each time: those of families by
// their beginnings, before a capital letter; single ones; and those that list a map in
// random order, before what they are given.
var (
	families = []string{"rand", "gen"}
	singles  = []string{"uuidv4", "shuffle", "htpasswd", "bcrypt", "encryptAES", "buildCustomCert"}
	orders   = []string{"keys", "values"}
)

// generator reports whether a text has such a name. It looks for the names one by one: a
// regular expression over all files of a chart took longer than rendering them.
func generator(text []byte) bool {
	return named(text, families, func(rest []byte) bool { return len(rest) > 0 && 'A' <= rest[0] && rest[0] <= 'Z' }) ||
		named(text, singles, func(rest []byte) bool { return len(rest) == 0 || !word(rest[0]) }) ||
		named(text, orders, func(rest []byte) bool {
			given := bytes.TrimLeft(rest, " \t\r\n\f")
			return len(given) < len(rest) && len(given) > 0 && bytes.IndexByte([]byte(".$("), given[0]) >= 0
		})
}

// named reports whether one of the names begins a word of the text, with a rest after it
// that counts.
func named(text []byte, names []string, counts func(rest []byte) bool) bool {
	for _, name := range names {
		for from := 0; ; {
			i := bytes.Index(text[from:], []byte(name))
			if i < 0 {
				break
			}
			at := from + i
			if from = at + len(name); (at == 0 || !word(text[at-1])) && counts(text[from:]) {
				return true
			}
		}
	}
	return false
}

// word reports whether a byte is part of a word.
func word(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// generatesIn reports whether values did so as templates themselves. What a chart passes to tpl
// is noticed when it runs.
func (r Request) generatesIn(texts []valuesText) bool {
	return r.Liquid != nil && r.Liquid.Generated() || slices.ContainsFunc(texts, func(t valuesText) bool { return t.generates })
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

// several reports whether one of some maps has an order.
func several(given reflect.Value) bool {
	if given.Kind() == reflect.Slice {
		for i := range given.Len() {
			if several(given.Index(i)) {
				return true
			}
		}
		return false
	}
	return given.Kind() == reflect.Map && given.Len() > 1
}
