package helm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/axle-cd/axle/internal/manifest"
)

// generators are the template functions whose result differs each time.
var generators = regexp.MustCompile(`\b(rand[A-Z]\w*|gen[A-Z]\w*|uuidv4|shuffle|htpasswd|bcrypt|encryptAES|buildCustomCert)\b`)

// generatesIn reports whether values may generate, by way of tpl.
func generatesIn(texts []valuesText) bool {
	return slices.ContainsFunc(texts, func(t valuesText) bool { return generators.Match(t.text) })
}

// generates reports whether a template or a chart's values may generate.
func (rel *release) generates() bool {
	return slices.ContainsFunc(rel.templates(), generators.Match)
}

// templates are all texts of the chart and its subcharts that the engine may
// run: templates, and values and files that tpl may be given.
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

// markVolatile compares two renders and notes in the first where they differ.
func markVolatile(first, second []manifest.Object) error {
	for i := range first {
		if i >= len(second) || first[i].Key("") != second[i].Key("") {
			return &manifest.Error{File: first[i].Source, Message: fmt.Sprintf(
				"the name, namespace or kind of %s is generated anew in each render; it must stay the same", first[i].Key(""))}
		}
		differ("", first[i].Data, second[i].Data, &first[i].Volatile)
		slices.Sort(first[i].Volatile)
	}
	if len(second) > len(first) {
		return &manifest.Error{File: second[len(first)].Source, Message: "the chart renders other objects each time; it must stay the same"}
	}
	return nil
}

// differ collects JSON pointers to the smallest parts that are not equal.
func differ(pointer string, a, b any, out *[]string) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		for key := range b {
			if _, ok := a[key]; !ok {
				*out = append(*out, pointer+"/"+escape(key))
			}
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok {
				*out = append(*out, pointer+"/"+escape(key))
				continue
			}
			differ(pointer+"/"+escape(key), value, other, out)
		}
		return
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			differ(pointer+"/"+strconv.Itoa(i), a[i], b[i], out)
		}
		return
	default:
		if a == b {
			return
		}
	}
	*out = append(*out, pointer)
}

func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
