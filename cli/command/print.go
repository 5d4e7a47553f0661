package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// Column is one column of a table.
type Column[T any] = output.Column[T]

// Col is a column that every table shows.
func Col[T any](title string, text func(T) string) Column[T] {
	return Column[T]{Title: title, Text: text}
}

// Wide is a column that only -o wide shows.
func Wide[T any](title string, text func(T) string) Column[T] {
	return Column[T]{Title: title, Text: text, Wide: true}
}

// Ages is a column that changes by time alone; --watch does not repeat a row for it.
func Ages[T any](title string, text func(T) string) Column[T] {
	return Column[T]{Title: title, Text: text, Ages: true}
}

// Printer writes in the format and to the streams of this invocation.
func (a *App) Printer() output.Printer {
	return output.Printer{Out: a.Out, Err: a.Err, Format: a.Output, NoHeaders: a.NoHeaders, Quiet: a.Quiet, Colours: output.Colourful(a.Out, a.Getenv), Value: a.value}
}

// value is what programs get of a message of the API: its fields.
func (a *App) value(item any) any {
	if m, ok := item.(proto.Message); ok {
		return fields.Of(m, a.Age)
	}
	return item
}

// PrintList writes items in the chosen format.
func PrintList[T any](a *App, items []T, name func(T) string, columns ...Column[T]) error {
	return output.List(a.Printer(), items, name, columns)
}

// PrintOne writes one item in the chosen format. A table shows its fields as
// lines.
func PrintOne[T any](a *App, item T, name func(T) string, lines ...Column[T]) error {
	return output.One(a.Printer(), item, name, lines)
}

// Follow prints a list, and with watch also the items that change, until the
// command is interrupted.
func Follow[T any](ctx context.Context, a *App, watch bool, list output.Watched[T]) error {
	return FollowPages(ctx, a, watch, list, func(ctx context.Context, page func([]T) error) error {
		items, err := list.Read(ctx)
		if err != nil {
			return err
		}
		return page(items)
	})
}

// FollowPages is Follow for a list that each reads page by page; the list needs no Read.
func FollowPages[T any](ctx context.Context, a *App, watch bool, list output.Watched[T], each func(ctx context.Context, page func([]T) error) error) error {
	if watch {
		list.Again = Transient
		list.Read = func(ctx context.Context) (all []T, err error) {
			err = each(ctx, func(some []T) error {
				all = append(all, some...)
				return nil
			})
			return all, err
		}
		return output.Watch(ctx, a.Printer(), list)
	}
	return output.Pages(a.Printer(), func(page func([]T) error) error { return each(ctx, page) }, list.Name, list.Columns)
}

// Transient reports whether an error is the hub's or the network's, and may end.
func Transient(err error) bool { return errcode.Is(err, errcode.Unavailable) }

// WatchFlag adds --watch to a list.
func WatchFlag(c *cobra.Command, watch *bool) {
	c.Flags().BoolVarP(watch, "watch", "w", false, "keep printing the rows that change, until interrupted")
}

// Encode writes a value in a format for programs.
func (a *App) Encode(v any) error { return output.Write(a.Out, a.Output, a.value(v)) }

// Call returns what runs a command that asks the hub.
func (a *App) Call(run func(c *cobra.Command, client *sdk.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		client, err := a.Client()
		if err != nil {
			return err
		}
		return run(c, client, args)
	}
}

// Each runs one thing for each name, in their order, and ends with the first
// error. It names its thing if there are several.
func Each(names []string, run func(name string) error) error {
	for _, name := range names {
		err := run(name)
		if err != nil && len(names) > 1 {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Removes returns what runs a command that ends each thing that it names, and
// says so: "webhook github deleted".
func Removes(a *App, kind, said string, call func(ctx context.Context, client *sdk.Client, name string) error) func(*cobra.Command, []string) error {
	return a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
		return Each(args, func(name string) error {
			if err := call(c.Context(), client, name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.Err, "%s %s %s\n", kind, name, said)
			return err
		})
	})
}

// Shows returns what runs a command that gets each thing that it names. One is
// shown alone, several as a list.
func Shows[T any](a *App, get func(ctx context.Context, client *sdk.Client, name string) (*connect.Response[T], error), one func(*App, *T) error, list func(*App, []*T) error) func(*cobra.Command, []string) error {
	return a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
		return shown(a, args, func(name string) (*T, error) {
			got, err := get(c.Context(), client, name)
			if err != nil {
				return nil, err
			}
			return got.Msg, nil
		}, one, list)
	})
}

func shown[T any](a *App, names []string, get func(name string) (T, error), one func(*App, T) error, list func(*App, []T) error) error {
	var all []T
	err := Each(names, func(name string) error {
		got, err := get(name)
		if err == nil {
			all = append(all, got)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(all) == 1 {
		return one(a, all[0])
	}
	return list(a, all)
}

// SortedKeys returns the keys of a map in their order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Age is how long ago a time was, in the largest fitting unit: "40s", "5m",
// "3h", "12d". 0 is empty.
func (a *App) Age(micros int64) string {
	if micros == 0 {
		return ""
	}
	return brief(a.Now().Sub(clock.FromMicros(micros)))
}

// brief is a duration in its largest fitting unit.
func brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Short shortens a revision to fit a table: a commit, or the digest of an artifact, with its
// tag, or of what the hub made itself.
func Short(revision string) string {
	tag, digest, tagged := strings.Cut(revision, "@")
	if !tagged {
		tag, digest = "", revision
	}
	_, hex, named := strings.Cut(digest, ":")
	if !named {
		hex = digest
	}
	if len(hex) < 40 || strings.Trim(hex, "0123456789abcdef") != "" {
		return revision
	}
	if tagged {
		return tag + "@" + hex[:8]
	}
	return hex[:8]
}

// Ago is an age as a table says it: "5m ago", or never if it is empty.
func Ago(age string) string {
	if age == "" {
		return "never"
	}
	return age + " ago"
}
