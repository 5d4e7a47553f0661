package kinds_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/api/kinds"
)

var update = flag.Bool("update", false, "write the pages anew")

const (
	folder = "../../docs/spec/kinds/"
	// mark separates the handwritten head of a page from the generated part.
	mark = "<!-- make generate writes what follows. -->\n"
)

// levelOf describes the level of a kind on its page.
func levelOf(k kinds.Kind) string {
	switch {
	case k.Level == kinds.Full && k.Cluster:
		return "**full**, read by the agent of the cluster. " + k.Says
	case k.Level == kinds.Full:
		return "**full**, in files for `axle apply -f FILE` and in a cluster with the [operator](../../operator.md). " + k.Says
	case k.Level == kinds.Stored:
		return "**stored**: an API server accepts and keeps the object, with the condition `Supported` false and the reason `NotImplemented`"
	}
	return "**refused**. " + k.Says
}

// installedIn says which clusters have the CRD.
func installedIn(k kinds.Kind) string {
	switch {
	case k.Level == kinds.Full && k.Cluster:
		return "every cluster: it is part of the agent's manifests"
	case k.Cluster:
		return "no cluster by default; it belongs in the clusters of agents"
	}
	return "no cluster by default; it belongs in the management cluster"
}

// page returns the generated part of a kind's page.
func page(t *testing.T, d *definition) string {
	t.Helper()
	var b strings.Builder
	scope := "namespaced"
	if d.cluster() {
		scope = "cluster-scoped; a namespace on it is ignored"
	}
	if d.row().Level != kinds.Full {
		fmt.Fprintf(&b, "**This kind has no effect yet.** %s\n\n", d.row().Says)
	}
	fmt.Fprintf(&b, "%s\n\n| | |\n|---|---|\n| API | `%s`, %s |\n", prose(d.root().Description), d.api(), scope)
	fmt.Fprintf(&b, "| short name | `%s` |\n| level | %s |\n", d.Spec.Names.ShortNames[0], levelOf(d.row()))
	fmt.Fprintf(&b, "| CRD | `%s`, installed in %s |\n", d.file, installedIn(d.row()))
	text, _ := example(t, d)
	fmt.Fprintf(&b, "\n## Example\n\n```yaml\n%s```\n", text)
	if spec := d.root().Properties["spec"]; spec != nil {
		b.WriteString("\n## Fields\n\n| field | type | default | required | meaning |\n|---|---|---|---|---|\n")
		rows(&b, "spec", spec, func(path string, field *fieldSchema, required bool) string {
			return fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", path, typeOf(field), code(field.Default), yes(required), meaning(field))
		})
		rules(&b, d)
	}
	b.WriteString("\n## Status\n\n| field | type | meaning |\n|---|---|---|\n")
	rows(&b, "status", d.root().Properties["status"], func(path string, field *fieldSchema, _ bool) string {
		return fmt.Sprintf("| `%s` | %s | %s |\n", path, typeOf(field), meaning(field))
	})
	return b.String()
}

// rows writes a row for each field below path. References and conditions get one
// row each.
func rows(b *strings.Builder, path string, s *fieldSchema, row func(string, *fieldSchema, bool) string) {
	var within []string
	s.walk(path, func(path string, field *fieldSchema, required bool) {
		if slices.ContainsFunc(within, func(outer string) bool {
			return strings.HasPrefix(path, outer+".") || strings.HasPrefix(path, outer+"[]")
		}) {
			return
		}
		if whole[shape(field)] != "" || path == "status.conditions" {
			within = append(within, path)
		}
		b.WriteString(row(path, field, required))
	})
}

// whole names well-known types by the names of their fields.
var whole = map[string]string{
	"apiVersion fieldPath kind name namespace resourceVersion uid": "reference",
	"name namespace":               "name and namespace",
	"key name optional":            "key of a Secret or ConfigMap",
	"key name namespace":           "key of a Secret",
	"matchExpressions matchLabels": "label selector",
}

// shape returns the names of the fields of an object, or of a list's items.
func shape(s *fieldSchema) string {
	if s.Items != nil {
		s = s.Items
	}
	return strings.Join(s.sorted(), " ")
}

func typeOf(s *fieldSchema) string {
	switch {
	case whole[shape(s)] != "" && s.Items != nil:
		return "list of " + whole[shape(s)]
	case whole[shape(s)] != "":
		return whole[shape(s)]
	case s.Items != nil:
		return "list of " + typeOf(s.Items)
	case s.AdditionalProperties != nil:
		return "map of " + typeOf(s.AdditionalProperties)
	case s.Open && s.Type == "":
		return "any"
	case s.Open:
		return "any object"
	case s.Format == "date-time":
		return "time"
	}
	return s.Type
}

func meaning(s *fieldSchema) string {
	text := prose(s.Description)
	values := s.Enum
	if s.Items != nil && len(values) == 0 {
		values = s.Items.Enum
	}
	if len(values) > 0 {
		var all []string
		for _, v := range values {
			all = append(all, code(v))
		}
		text += " One of " + strings.Join(all, ", ") + "."
	}
	return strings.TrimSpace(text)
}

// rules lists what the API server refuses, with its messages.
func rules(b *strings.Builder, d *definition) {
	head := "\n## Rules\n\n| where | the API server refuses it, with |\n|---|---|\n"
	write := func(path string, s *fieldSchema) {
		for _, r := range s.Rules {
			fmt.Fprintf(b, "%s| `%s` | %s |\n", head, path, prose(r.Message))
			head = ""
		}
	}
	write("metadata.name", d.root())
	write("spec", d.root().Properties["spec"])
	d.root().Properties["spec"].walk("spec", func(path string, field *fieldSchema, _ bool) {
		write(path, field)
		if field.Items != nil {
			write(path+"[]", field.Items)
		}
	})
}

func prose(text string) string {
	return strings.NewReplacer("\n", " ", "|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_").Replace(strings.TrimSpace(text))
}

func code(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("`%v`", v)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// index lists all kinds with their levels.
func index(all []*definition) string {
	var b strings.Builder
	for _, group := range []string{kinds.Deployments, kinds.Axle} {
		fmt.Fprintf(&b, "\n## %s\n\n| kind | scope | for | short name | level | |\n|---|---|---|---|---|---|\n", group)
		for _, d := range all {
			if d.Spec.Group != group {
				continue
			}
			scope := "namespaced"
			if d.cluster() {
				scope = "cluster"
			}
			reader := "hub"
			if d.row().Cluster {
				reader = "agent"
			}
			fmt.Fprintf(&b, "| [%s](%s) | %s | %s | `%s` | %s | %s |\n", d.kind(), d.page(), scope, reader, d.Spec.Names.ShortNames[0], d.row().Level, d.row().Says)
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// schemaOnly lists the kinds that are a CRD and nothing else.
func schemaOnly(all []*definition) string {
	var b strings.Builder
	for _, notOurs := range []bool{false, true} {
		title := "No effect yet"
		if notOurs {
			title = "Not part of Axle"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| kind | API | scope | short name | description | without effect |\n|---|---|---|---|---|---|\n", title)
		for _, d := range all {
			if !d.row().SchemaOnly || d.row().NotOurs != notOurs {
				continue
			}
			scope := "namespaced"
			if d.cluster() {
				scope = "cluster"
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | `%s` | %s | %s |\n", d.kind(), d.api(), scope, d.Spec.Names.ShortNames[0], prose(d.root().Description), d.row().Says)
		}
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// check compares the part of a page after the mark with what should be there, or
// writes it.
func check(t *testing.T, path, title, generated string) {
	t.Helper()
	have, err := os.ReadFile(path)
	if err != nil && (!os.IsNotExist(err) || !*update) {
		t.Errorf("%v; make generate writes it", err)
		return
	}
	written, _, marked := strings.Cut(string(have), mark)
	if !marked {
		written = "# " + title + "\n\n"
	}
	want := written + mark + "\n" + generated
	if *update {
		err = os.WriteFile(path, []byte(want), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !*update && string(have) != want {
		t.Errorf("%s is not what make generate writes", path)
	}
}

func TestPagesAreCurrent(t *testing.T) {
	known := []string{"all.md"}
	for _, d := range definitions(t) {
		known = append(known, d.page(), strings.ToLower(d.kind()))
		if !d.row().SchemaOnly {
			check(t, folder+d.page(), d.kind(), page(t, d))
		}
	}
	check(t, folder+"all.md", "All kinds", index(definitions(t)))
	check(t, folder+"schema-only.md", "Schema-only kinds", schemaOnly(definitions(t)))
	pages, err := filepath.Glob(folder + "*.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../../examples/kinds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(pages, examples...) {
		if !slices.Contains(known, strings.TrimSuffix(filepath.Base(path), ".yaml")) {
			t.Errorf("%s is of no kind", path)
		}
	}
}

// The hook of stock Helm may change the definitions of this tree and no others.
func TestHookKnowsOurDefinitions(t *testing.T) {
	const list = "../../deploy/charts/axle/files/definitions.txt"
	var names []string
	for _, d := range definitions(t) {
		names = append(names, d.Spec.Names.Plural+"."+d.Spec.Group)
	}
	slices.Sort(names)
	want := strings.Join(names, "\n") + "\n"
	if *update {
		if err := os.WriteFile(list, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(list); err != nil || string(have) != want || len(names) < 50 {
		t.Errorf("%s differs from deploy/crds (%v): run make generate", list, err)
	}
}
