package kinds

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/sdk/manifest"
)

// Pages returns the pages of the kinds by their path in the documentation, made of
// the CRDs, their examples below root and the tables of api/kinds.
func Pages(root string) (map[string]string, error) {
	definitions, err := readDefinitions()
	if err != nil {
		return nil, err
	}
	const folder = "spec/kinds/"
	all := map[string]string{
		folder + "all.md":         "# All kinds\n\n" + index(definitions),
		folder + "schema-only.md": "# Schema-only kinds\n\n" + schemaOnly(definitions),
		"spec/writes.md":          "# Calls and kinds\n\n" + writesPage(),
		"spec/exceptions.md":      "# Calls without a kind\n\n" + exceptionsPage(),
	}
	for _, d := range definitions {
		if d.row().SchemaOnly {
			continue
		}
		example, err := os.ReadFile(filepath.Join(root, d.example()))
		if err != nil {
			return nil, fmt.Errorf("%s has no example: %w", d.kind(), err)
		}
		all[folder+d.page()] = "# " + d.kind() + "\n\n" + page(d, string(example))
	}
	return all, nil
}

// levelOf describes the level of a kind on its page.
func levelOf(k kinds.Kind) string {
	switch {
	case k.Group == kinds.Platform:
		return "**full**, read in the cluster of an agent when somebody asks for it. " + k.Says
	case k.Level == kinds.Full && k.Cluster:
		return "**full**, read by the agent of the cluster. " + k.Says
	case k.Level == kinds.Full && manifest.ForOperator(k.Name):
		return "**full**, in a cluster with the [operator](../../operator.md). " + k.Says
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

// page returns a kind's page without its title.
func page(d *definition, example string) string {
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
	fmt.Fprintf(&b, "\n## Example\n\n```yaml\n%s```\n", example)
	if spec := d.root().Properties["spec"]; spec != nil {
		b.WriteString("\n## Fields\n\n| field | type | default | required | meaning |\n|---|---|---|---|---|\n")
		rows(&b, "spec", spec, func(path string, field *fieldSchema, required bool) string {
			return fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", path, typeOf(field), code(field.Default), yes(required), meaning(field))
		})
		rules(&b, d)
	}
	status := d.root().Properties["status"]
	if status == nil {
		return b.String()
	}
	b.WriteString("\n## Status\n\n| field | type | meaning |\n|---|---|---|\n")
	rows(&b, "status", status, func(path string, field *fieldSchema, _ bool) string {
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
	for _, group := range []string{kinds.Deployments, kinds.Axle, kinds.Platform} {
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

// named returns a kind of either group.
func named(name string) kinds.Kind {
	return kinds.All[slices.IndexFunc(kinds.All, func(k kinds.Kind) bool { return k.Name == name })]
}

// writesPage lists the calls that write with their kinds.
func writesPage() string {
	var b strings.Builder
	b.WriteString("| call | kind | field |\n|---|---|---|\n")
	for _, w := range kinds.Writes {
		var links []string
		for _, kind := range append([]string{w.Kind}, w.Also...) {
			links = append(links, fmt.Sprintf("[%s](kinds/%s)", kind, pageOf(named(kind))))
		}
		field := "`" + w.Path + "`"
		if w.Path == "" {
			field = "deletion of the object"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", w.Call, strings.Join(links, ", "), field)
	}
	return b.String()
}

func exceptionsPage() string {
	var b strings.Builder
	b.WriteString("| what | calls | why |\n|---|---|---|\n")
	for _, e := range kinds.Exceptions {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", e.What, strings.Join(e.Calls, "`, `"), e.Why)
	}
	return b.String()
}
