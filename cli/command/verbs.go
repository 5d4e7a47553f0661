package command

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
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
