package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// Lists is the verb list of a kind whose calls its description has (api/object).
func Lists[T proto.Message](a *App, kind, short, example string, print func(*App, []T) error) *cobra.Command {
	return listing(a, kind, short, example, new(string), print)
}

// ListsManaged is Lists with --managed-by.
func ListsManaged[T interface {
	proto.Message
	GetManagedBy() *hubv1.Manager
}](a *App, kind, short, example string, print func(*App, []T) error) *cobra.Command {
	var tool string
	c := listing(a, kind, short, example, &tool, func(a *App, all []T) error { return print(a, Managed(all, tool)) })
	ManagedByFlag(c, &tool)
	return c
}

func listing[T proto.Message](a *App, kind, short, example string, tool *string, print func(*App, []T) error) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: short, Args: NoArgs, Example: example,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, _ []string) error {
			objects, _ := client.Objects(kind)
			all, err := objects.OfTool(c.Context(), *tool)
			if err != nil {
				return err
			}
			var rows []T
			for _, one := range all {
				rows = append(rows, one.(T))
			}
			return print(a, rows)
		}),
	}
}

// Gets is the verb get of a kind. One is shown alone, several as a list.
func Gets[T proto.Message](a *App, kind, short, example string, one func(*App, T) error, list func(*App, []T) error) *cobra.Command {
	return &cobra.Command{
		Use: "get NAME…", Short: short, Args: AtLeast(1), Example: example,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			objects, _ := client.Objects(kind)
			return shown(a, args, func(name string) (one T, err error) {
				got, err := objects.Get(c.Context(), name)
				if err == nil {
					one = got.(T)
				}
				return one, err
			}, one, list)
		}),
	}
}

// Absent returns Conflict for an object that exists; change is what to do with it.
func Absent(ctx context.Context, client *sdk.Client, kind, called, name, change string) error {
	objects, _ := client.Objects(kind)
	_, err := objects.Get(ctx, name)
	if err == nil {
		return errcode.New(errcode.Conflict, "%s %s exists already; %s it", called, name, change)
	}
	if sdk.IsNotFound(err) {
		return nil
	}
	return err
}

// Keep puts into the settings of a change those of the object that no flag replaces. A
// flag has the name of its field, in the singular.
func Keep(c *cobra.Command, settings, have proto.Message) {
	settings.ProtoReflect().SetUnknown(have.ProtoReflect().GetUnknown()) // of a newer hub
	have.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if flag := c.Flags().Lookup(strings.ReplaceAll(strings.TrimSuffix(string(f.Name()), "s"), "_", "-")); flag == nil || !flag.Changed {
			settings.ProtoReflect().Set(f, v)
		}
		return true
	})
}

// Wrote prints the result of a declaration.
func (a *App) Wrote(called, name, result string, dryRun bool) {
	note := ""
	if dryRun {
		note = " (dry run, nothing stored)"
	}
	fmt.Fprintf(a.Err, "%s %s %s%s\n", called, name, result, note)
}

// Deletes is the verb delete of a kind; result is printed behind the name.
func Deletes(a *App, kind, called, result, short, example string) *cobra.Command {
	management := Management()
	c := &cobra.Command{
		Use: "delete NAME…", Aliases: []string{"rm"}, Short: short, Args: AtLeast(1), Example: example,
		RunE: Removes(a, called, result, func(ctx context.Context, client *sdk.Client, name string) error {
			objects, _ := client.Objects(kind)
			return objects.Delete(ctx, name, management)
		}),
	}
	TakeOverFlag(c, management)
	return c
}
