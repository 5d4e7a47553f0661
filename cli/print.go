package cli

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

// column is one column of a table.
type column[T any] = output.Column[T]

// col is a column that every table shows.
func col[T any](title string, text func(T) string) column[T] {
	return column[T]{Title: title, Text: text}
}

// wide is a column that only -o wide shows.
func wide[T any](title string, text func(T) string) column[T] {
	return column[T]{Title: title, Text: text, Wide: true}
}

// ages is a column that changes by time alone; --watch does not repeat a row for it.
func ages[T any](title string, text func(T) string) column[T] {
	return column[T]{Title: title, Text: text, Ages: true}
}

func (a *app) printer() output.Printer {
	return output.Printer{Out: a.Out, Err: a.Err, Format: a.output, NoHeaders: a.noHeaders, Quiet: a.quiet, Colours: output.Colourful(a.Out, a.getenv), Value: a.value}
}

// value is what programs get of a message of the API: its fields.
func (a *app) value(item any) any {
	if m, ok := item.(proto.Message); ok {
		return fields.Of(m, a.age)
	}
	return item
}

// printList writes items in the chosen format.
func printList[T any](a *app, items []T, name func(T) string, columns ...column[T]) error {
	return output.List(a.printer(), items, name, columns)
}

// printOne writes one item in the chosen format. A table shows its fields as
// lines.
func printOne[T any](a *app, item T, name func(T) string, lines ...column[T]) error {
	return output.One(a.printer(), item, name, lines)
}

// follow prints a list, and with watch also the items that change, until the
// command is interrupted.
func follow[T any](ctx context.Context, a *app, watch bool, list output.Watched[T]) error {
	if watch {
		list.Again = again
		return output.Watch(ctx, a.printer(), list)
	}
	items, err := list.Read(ctx)
	if err != nil {
		return err
	}
	return output.List(a.printer(), items, list.Name, list.Columns)
}

// again reports whether an error is the hub's or the network's, and may end.
func again(err error) bool { return errcode.Is(err, errcode.Unavailable) }

// watchFlag adds --watch to a list.
func watchFlag(c *cobra.Command, watch *bool) {
	c.Flags().BoolVarP(watch, "watch", "w", false, "keep printing the rows that change, until interrupted")
}

// encode writes a value in a format for programs.
func (a *app) encode(v any) error { return output.Write(a.Out, a.output, a.value(v)) }

// call returns what runs a command that asks the hub.
func (a *app) call(run func(c *cobra.Command, client *sdk.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		client, err := a.client()
		if err != nil {
			return err
		}
		return run(c, client, args)
	}
}

// each runs one thing for each name, in their order, and ends with the first
// error. It names its thing if there are several.
func each(names []string, run func(name string) error) error {
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

// removes returns what runs a command that ends each thing that it names, and
// says so: "webhook github deleted".
func removes(a *app, kind, said string, call func(ctx context.Context, client *sdk.Client, name string) error) func(*cobra.Command, []string) error {
	return a.call(func(c *cobra.Command, client *sdk.Client, args []string) error {
		return each(args, func(name string) error {
			if err := call(c.Context(), client, name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(a.Err, "%s %s %s\n", kind, name, said)
			return err
		})
	})
}

// shows returns what runs a command that gets each thing that it names. One is
// shown alone, several as a list.
func shows[T any](a *app, get func(ctx context.Context, client *sdk.Client, name string) (*connect.Response[T], error), one func(*app, *T) error, list func(*app, []*T) error) func(*cobra.Command, []string) error {
	return a.call(func(c *cobra.Command, client *sdk.Client, args []string) error {
		var all []*T
		err := each(args, func(name string) error {
			got, err := get(c.Context(), client, name)
			if err == nil {
				all = append(all, got.Msg)
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
	})
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// stamp formats a time as the JSON output does; 0 is empty.
func stamp(micros int64) string { return fields.Stamp(micros) }

// age is how long ago a time was, in the largest fitting unit: "40s", "5m",
// "3h", "12d". 0 is empty.
func (a *app) age(micros int64) string {
	if micros == 0 {
		return ""
	}
	return brief(a.now().Sub(clock.FromMicros(micros)))
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

// short shortens a revision to fit a table.
func short(revision string) string {
	if len(revision) >= 40 && strings.IndexFunc(revision, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) < 0 {
		return revision[:8]
	}
	return revision
}

// ago is an age as a table says it: "5m ago", or never if it is empty.
func ago(age string) string {
	if age == "" {
		return "never"
	}
	return age + " ago"
}
