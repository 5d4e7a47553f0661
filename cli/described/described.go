// Package described has the commands for the kinds in the hub's table of objects, all of them
// by their descriptions (api/object): list, get, apply and delete, with a flag for each
// field of the settings. Settings that hold messages have no flags: manifests declare them.
// cli adds each noun where the description says.
//
// It decides nothing: the hub checks every field.
package described

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/flagvalue"
	"github.com/axle-cd/axle/internal/protobox"
	"github.com/axle-cd/axle/sdk"
)

// Command returns the noun of a kind, and the command that it is below: "clusters" for
// "clusters templates".
func Command(a *command.App, k object.Kind) (below string, _ *cobra.Command) {
	n := noun{a, k}
	below, use, nested := strings.Cut(k.Noun, " ")
	if !nested {
		below, use = "", k.Noun
	}
	verbs, declared := []*cobra.Command{n.list(), n.get(), n.remove()}, " Declare one by a manifest: axle apply -f."
	if !nests(settingsOf(n.request().ProtoReflect()).Descriptor().Fields()) {
		verbs, declared = append(verbs, n.apply()), ""
	}
	var aliases []string
	if one := strings.TrimSuffix(use, "s"); one != use {
		aliases = append(aliases, one)
	}
	c := command.Noun(use, "Manage "+k.Storage.Plural(), aliases, verbs...)
	c.Long = "Manage " + k.Storage.Plural() + ". " + k.Summary() + declared
	return below, c
}

type noun struct {
	*command.App
	object.Kind
}

// examples are those of a verb.
func (n noun) examples(verb string) string {
	var lines []string
	for _, line := range n.Storage.Examples {
		if word, _, _ := strings.Cut(line, " "); word == verb {
			lines = append(lines, "  axle "+n.Noun+" "+line)
		}
	}
	return strings.Join(lines, "\n")
}

func name(m proto.Message) string { return sdk.Text(m, "name") }

// nests reports whether a field holds messages.
func nests(fields protoreflect.FieldDescriptors) bool {
	for i := range fields.Len() {
		if fields.Get(i).Message() != nil {
			return true
		}
	}
	return false
}

// setting is a field of the settings as text.
func setting(m proto.Message, field string) string {
	settings := settingsOf(m.ProtoReflect())
	return text(settings, settings.Descriptor().Fields().ByName(protoreflect.Name(field)))
}

// text is a field as text: messages have a line each, with what is in them.
func text(m protoreflect.Message, f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil && f.IsList():
		var lines []string
		for i := range m.Get(f).List().Len() {
			lines = append(lines, line(m.Get(f).List().Get(i).Message()))
		}
		return strings.Join(lines, "\n")
	case f.Message() != nil:
		return line(m.Get(f).Message())
	case f.Kind() == protoreflect.BoolKind:
		return map[bool]string{true: "yes"}[m.Get(f).Bool()]
	case f.IsList():
		return strings.Join(protobox.Texts(m.Get(f).List()), ", ")
	}
	return m.Get(f).String()
}

// line is a message in a line: the names of its fields, and their values.
func line(m protoreflect.Message) string {
	var parts []string
	for i := range m.Descriptor().Fields().Len() {
		if f := m.Descriptor().Fields().Get(i); m.Has(f) {
			parts = append(parts, strings.ReplaceAll(string(f.Name()), "_", " ")+" "+text(m, f))
		}
	}
	return strings.Join(parts, "; ")
}

// brief is a field in a list of objects: messages are counted.
func brief(m proto.Message, field string) string {
	settings := settingsOf(m.ProtoReflect())
	if f := settings.Descriptor().Fields().ByName(protoreflect.Name(field)); f.Message() != nil && f.IsList() {
		return fmt.Sprint(settings.Get(f).List().Len())
	}
	return setting(m, field)
}

func settingsOf(m protoreflect.Message) protoreflect.Message {
	return m.Mutable(m.Descriptor().Fields().ByName("settings")).Message()
}

func (n noun) table(all []proto.Message) error {
	columns := []command.Column[proto.Message]{command.Col("NAME", name)}
	for _, field := range n.Storage.Columns {
		columns = append(columns, command.Col(strings.ToUpper(strings.ReplaceAll(field, "_", " ")), func(m proto.Message) string { return brief(m, field) }))
	}
	columns = append(columns, command.Wide("MANAGED BY", manager))
	return command.PrintList(n.App, all, name, columns...)
}

func manager(m proto.Message) string { return command.NewManagerView(sdk.ManagedBy(m)).String() }

func (n noun) one(m proto.Message) error {
	lines := []command.Column[proto.Message]{command.Col("Name", name)}
	for i := range settingsOf(m.ProtoReflect()).Descriptor().Fields().Len() {
		field := string(settingsOf(m.ProtoReflect()).Descriptor().Fields().Get(i).Name())
		if n.Fields[n.Storage.Settings+"."+field].Secret {
			continue // the hub does not show it
		}
		title := strings.ReplaceAll(field, "_", " ")
		lines = append(lines, command.Col(strings.ToUpper(title[:1])+title[1:], func(m proto.Message) string { return setting(m, field) }))
	}
	lines = append(lines, command.Col("Managed by", manager), command.Col("Updated", func(m proto.Message) string {
		updated, _ := m.(interface{ GetUpdatedAt() int64 })
		return fmt.Sprintf("by %s %s", sdk.Text(m, "declared_by"), command.Ago(n.Age(updated.GetUpdatedAt())))
	}))
	return command.PrintOne(n.App, m, name, lines...)
}

func (n noun) list() *cobra.Command {
	return command.Lists(n.App, n.Name, "List "+n.Storage.Plural(), n.examples("list"), func(_ *command.App, all []proto.Message) error { return n.table(all) })
}

func (n noun) get() *cobra.Command {
	return command.Gets(n.App, n.Name, "Show "+n.Storage.Plural(), n.examples("get"), func(_ *command.App, m proto.Message) error { return n.one(m) },
		func(_ *command.App, all []proto.Message) error { return n.table(all) })
}

func (n noun) remove() *cobra.Command {
	return command.Deletes(n.App, n.Name, n.Storage.Called, "deleted", "Delete "+n.Storage.Plural(), n.examples("delete"))
}

// request is an empty request that declares an object.
func (n noun) request() proto.Message {
	return sdk.NewMessage(hubv1.MethodNamed(n.Calls.Path(n.Calls.Update)).Input())
}

func (n noun) apply() *cobra.Command {
	management, dryRun := command.Management(), false
	c := &cobra.Command{
		Use: "apply NAME", Short: "Create or change a " + n.Storage.Called, Args: command.Exactly(1), Example: n.examples("apply"),
		Long: "Create a " + n.Storage.Called + ", or change the one of that name. Fields without a flag are unchanged.",
	}
	settings := settingsOf(n.request().ProtoReflect()).Descriptor().Fields()
	lists := map[protoreflect.Name]*[]string{}
	for i := range settings.Len() {
		n.flag(c, settings.Get(i), lists)
	}
	c.RunE = n.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
		request := n.request()
		objects, _ := client.Objects(n.Name)
		have, err := objects.Get(c.Context(), args[0])
		if err != nil && !sdk.IsNotFound(err) {
			return err
		}
		into := settingsOf(request.ProtoReflect())
		if err == nil {
			proto.Merge(into.Interface(), settingsOf(have.ProtoReflect()).Interface())
		}
		for i := range settings.Len() {
			if err := n.set(c, into, settings.Get(i), lists); err != nil {
				return err
			}
		}
		sdk.Set(request, "name", protoreflect.ValueOfString(args[0]))
		sdk.Set(request, "dry_run", protoreflect.ValueOfBool(dryRun))
		sdk.SetManagement(request, management)
		made, result, err := objects.Write(c.Context(), request, true)
		if err != nil {
			return err
		}
		n.Wrote(n.Storage.Called, args[0], result, dryRun)
		return n.one(made)
	})
	c.Flags().BoolVar(&dryRun, "dry-run", false, "check everything, store nothing")
	command.TakeOverFlag(c, management)
	return c
}

func flagOf(f protoreflect.FieldDescriptor) string {
	return strings.ReplaceAll(string(f.Name()), "_", "-")
}

// flag adds the flag of a field. Values of a list go into lists.
func (n noun) flag(c *cobra.Command, f protoreflect.FieldDescriptor, lists map[protoreflect.Name]*[]string) {
	at := string(f.Parent().Name()) + "." + string(f.Name())
	d, text := n.Fields[at], hubv1.Comments()[at]
	if d.Text != "" {
		text = d.Text
	}
	text = strings.TrimSuffix(text, ".")
	if word, _, _ := strings.Cut(text, " "); word != strings.ToUpper(word) || len(word) == 1 { // API stays as it is
		text = strings.ToLower(text[:1]) + text[1:]
	}
	switch {
	case f.IsList():
		lists[f.Name()] = new([]string)
		flagvalue.List(c.Flags(), lists[f.Name()], flagOf(f), text+"; may be repeated")
	case d.Secret:
		c.Flags().String(flagOf(f)+fileSuffix, "", "file with the value, - for standard input: "+text)
	case f.Kind() == protoreflect.BoolKind:
		c.Flags().Bool(flagOf(f), false, text)
	default:
		c.Flags().String(flagOf(f), "", text)
	}
	if len(d.Enum) > 0 {
		command.Complete(c, flagOf(f), d.Enum...)
	}
}

// fileSuffix ends the flag of a secret, which no command line holds.
const fileSuffix = "-file"

// set sets a field whose flag is given.
func (n noun) set(c *cobra.Command, settings protoreflect.Message, f protoreflect.FieldDescriptor, lists map[protoreflect.Name]*[]string) error {
	switch {
	case c.Flags().Changed(flagOf(f) + fileSuffix):
		path, _ := c.Flags().GetString(flagOf(f) + fileSuffix)
		value, err := n.Secret(strings.ReplaceAll(string(f.Name()), "_", " "), path)
		settings.Set(f, protoreflect.ValueOfString(value))
		return err
	case !c.Flags().Changed(flagOf(f)):
	case f.IsList():
		settings.Clear(f)
		for _, text := range *lists[f.Name()] {
			settings.Mutable(f).List().Append(protoreflect.ValueOfString(text))
		}
	case f.Kind() == protoreflect.BoolKind:
		on, _ := c.Flags().GetBool(flagOf(f))
		settings.Set(f, protoreflect.ValueOfBool(on))
	default:
		text, _ := c.Flags().GetString(flagOf(f))
		settings.Set(f, protoreflect.ValueOfString(text))
	}
	return nil
}
