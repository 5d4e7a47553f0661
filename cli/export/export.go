package export

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/sdk/manifest"
)

const aboutSecrets = `
Secrets are never exported, because the hub does not show them. The annotation
axle-cd.github.io/stored-secrets names them, and an apply keeps those of the hub. On
another hub the apply fails until a Secret gives their values.`

func selects(c *cobra.Command, s *selection) {
	c.Flags().StringVar(&s.project, "project", "", "only what is of this project")
	c.Flags().StringVar(&s.cluster, "cluster", "", "only this cluster and its services")
	c.Flags().StringVarP(&s.Namespace, "namespace", "n", "", "namespace of the objects, for the operator (default: none, for axle apply)")
	command.ManagedByFlag(c, &s.tool)
}

// Get returns the command axle get.
func Get(a *command.App) *cobra.Command {
	var s selection
	c := &cobra.Command{
		Use: "get KIND [NAME…]", Short: "Show objects of the hub as manifests, with -o yaml", Args: command.AtLeast(1),
		Long: `Show objects of the hub by the kind that declares them: project, gitrepository,
helmrepository, cluster, servicecontext, globalservice or servicedeployment. With -o yaml
they are manifests that axle apply takes back unchanged. The commands of each noun, such
as axle services get, show their state.
` + aboutSecrets,
		Example: `  axle get globalservice web -o yaml
  axle get servicedeployment edge-1/web -o yaml > web.yaml
  axle get services --cluster edge-1 -o yaml`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				for _, s := range sources {
					words = append(words, strings.ToLower(s.kind))
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			from, err := sourceOf(args[0])
			if err != nil {
				return err
			}
			s.client = client
			return get(c.Context(), a, from, s, args[1:])
		}),
	}
	selects(c, &s)
	return c
}

func get(ctx context.Context, a *command.App, from source, s selection, names []string) (err error) {
	var rows []row
	if len(names) == 0 {
		rows, err = from.list(ctx, s)
	}
	for _, name := range names {
		one, err := from.get(ctx, s, name)
		if err != nil {
			return err
		}
		rows = append(rows, one)
	}
	if err != nil {
		return err
	}
	if !output.Data(a.Output) {
		return command.PrintList(a, rows, func(r row) string { return r.name },
			command.Col("KIND", func(row) string { return from.kind }),
			command.Col("NAME", func(r row) string { return r.name }),
			command.Col("MANAGED BY", func(r row) string { return command.NewManagerView(r.by).String() }),
		)
	}
	all, errs := exported(ctx, rows)
	left := 0
	var objects []any
	var text bytes.Buffer
	for i, x := range all {
		err := errs[i]
		if err == nil {
			err = add(&text, &objects, x)
		}
		if err != nil && len(names) == 1 {
			return err
		}
		if err != nil {
			left++
			fmt.Fprintf(a.Err, "left out: %v\n", err)
		}
	}
	switch {
	case a.Output == "yaml":
		_, err = a.Out.Write(text.Bytes())
	case len(names) == 1:
		err = output.Write(a.Out, a.Output, objects[0])
	default:
		err = output.Write(a.Out, a.Output, append([]any{}, objects...))
	}
	return incomplete(err, left)
}

// add adds a manifest to a file of several, and its fields to objects.
func add(text *bytes.Buffer, objects *[]any, x manifest.Exported) error {
	document, err := x.YAML()
	if err != nil {
		return err
	}
	fields, err := x.Fields()
	if err != nil {
		return err
	}
	if text.Len() > 0 {
		text.WriteString("---\n")
	}
	text.Write(document)
	*objects = append(*objects, fields)
	return nil
}

// incomplete is the error of an export that left objects out.
func incomplete(err error, left int) error {
	if err == nil && left > 0 {
		err = errcode.New(errcode.Unprocessable, "%s have no manifest and were left out", output.Count(left, "object"))
	}
	return err
}

// Command returns the command axle export.
func Command(a *command.App) *cobra.Command {
	var s selection
	var force bool
	c := &cobra.Command{
		Use: "export [DIR]", Short: "Write what the hub declares as manifests", Args: command.AtMost(1),
		Long: `Write the projects, repositories, clusters, contexts, notification sinks and routers, global services and services of
the hub as manifests that axle apply takes back unchanged: one file an object under DIR,
or all on standard output. Services of global services are left out, because the global
service declares them.

Files that exist are replaced only with --force, and none is written if one exists with
other content. Files of objects that the hub no longer has stay.
` + aboutSecrets,
		Example: "  axle export fleet/\n  axle export --project shop\n  axle export fleet/ --force --namespace platform",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			s.client = client
			return export(c.Context(), a, s, args, force)
		}),
	}
	selects(c, &s)
	c.Flags().BoolVar(&force, "force", false, "replace files that exist")
	return c
}

func export(ctx context.Context, a *command.App, s selection, args []string, force bool) error {
	p := a.Begin("reading the hub")
	files, left, err := read(ctx, a, s)
	p.End()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		for i, f := range files {
			if i > 0 {
				f.data = append([]byte("---\n"), f.data...)
			}
			if _, err := a.Out.Write(f.data); err != nil {
				return err
			}
		}
		return incomplete(nil, left)
	}
	written, err := write(args[0], files, force)
	if err != nil {
		return err
	}
	if !a.Quiet {
		fmt.Fprintf(a.Err, "%s written to %s, %d unchanged\n", output.Count(written, "file"), args[0], len(files)-written)
	}
	return incomplete(nil, left)
}

// read makes the files of everything that is selected, and counts what has none.
func read(ctx context.Context, a *command.App, s selection) (files []file, left int, _ error) {
	for _, from := range sources {
		rows, err := from.list(ctx, s)
		if err != nil {
			return nil, 0, err
		}
		all, errs := exported(ctx, rows)
		for i, x := range all {
			err := errs[i]
			var text []byte
			if err == nil {
				text, err = x.YAML()
			}
			if err != nil {
				left++
				fmt.Fprintf(a.Err, "left out: %v\n", err)
				continue
			}
			files = append(files, file{pathOf(from, rows[i].name), text})
		}
	}
	return files, left, nil
}
