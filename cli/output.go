package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/plain"
)

// column is one column of a table.
type column[T any] struct {
	title string
	text  func(T) string
}

// printList writes items in the chosen format. JSON and YAML are arrays, also
// when there are no items.
func printList[T any](a *app, items []T, name func(T) string, columns ...column[T]) error {
	switch a.output {
	case "json", "yaml":
		if items == nil {
			items = []T{}
		}
		return a.encode(items)
	case "name":
		for _, item := range items {
			fmt.Fprintln(a.Out, name(item))
		}
		return nil
	case "table":
		return writeTable(a, items, columns)
	}
	return usagef("-o %s is not table, json, yaml or name", a.output)
}

// printOne writes one item. A table shows its fields as rows.
func printOne[T any](a *app, item T, name func(T) string, rows ...column[T]) error {
	switch a.output {
	case "json", "yaml":
		return a.encode(item)
	case "name":
		fmt.Fprintln(a.Out, name(item))
		return nil
	case "table":
		w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
		for _, r := range rows {
			if text := r.text(item); text != "" {
				fmt.Fprintf(w, "%s:\t%s\n", r.title, strings.ReplaceAll(text, "\n", "\n\t"))
			}
		}
		return w.Flush()
	}
	return usagef("-o %s is not table, json, yaml or name", a.output)
}

func (a *app) encode(v any) error {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // keep < and > readable: Ann <ann@example.com>
	to.SetIndent("", "  ")
	err := to.Encode(v)
	data := plain.JSON(text.Bytes())
	if err == nil && a.output == "yaml" {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		return err
	}
	_, err = a.Out.Write(data)
	return err
}

// writeTable aligns columns by their width on the terminal, ignoring colour
// codes.
func writeTable[T any](a *app, items []T, columns []column[T]) error {
	if len(items) == 0 {
		_, err := fmt.Fprintln(a.Err, "nothing found")
		return err
	}
	cells := make([][]string, 0, len(items)+1)
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.title
	}
	cells = append(cells, head)
	for _, item := range items {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = oneLine(c.text(item))
		}
		cells = append(cells, row)
	}
	widths := make([]int, len(columns))
	for _, row := range cells {
		for i, text := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	colours := colourful(a.Out, a.getenv)
	for n, row := range cells {
		var line strings.Builder
		for i, text := range row {
			padding := ""
			if i < len(row)-1 {
				padding = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2)
			}
			if colours && n > 0 {
				text = paint(text)
			}
			line.WriteString(text + padding)
		}
		if _, err := fmt.Fprintln(raw(a.Out), strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// oneLine puts text on one line, for the row of a table.
func oneLine(text string) string {
	text = plain.Line(text, 0)
	if utf8.RuneCountInString(text) > 120 {
		text = string([]rune(text)[:119]) + "…"
	}
	if text == "" {
		return "-"
	}
	return text
}

// colourful reports whether w is a terminal that shows colours.
func colourful(w io.Writer, getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && isTerminal(w)
}

func isTerminal(w io.Writer) bool {
	f, ok := raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// raw returns the underlying stream, for this program's own colours and
// rewritten lines. Text from anywhere else must be made plain first.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*plain.Writer); ok {
		return p.To
	}
	return w
}

// paint colours the words of status lists. A colour carries no meaning that the
// word does not have.
func paint(word string) string {
	switch word {
	case "Healthy", "Synced", "Fresh", "Pullable", "Up":
		return "\x1b[32m" + word + "\x1b[0m"
	case "Degraded", "Failed", "Missing", "Stale", "Down":
		return "\x1b[31m" + word + "\x1b[0m"
	case "Progressing", "Pending", "Applying", "Drifted", "Held":
		return "\x1b[33m" + word + "\x1b[0m"
	}
	return word
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// stamp formats a time as the JSON output does; 0 is empty.
func stamp(micros int64) string {
	if micros == 0 {
		return ""
	}
	return clock.FromMicros(micros).Format(time.RFC3339)
}

// age is how long ago a time was, in the largest fitting unit: "40s", "5m",
// "3h", "12d". 0 is empty.
func (a *app) age(micros int64) string {
	if micros == 0 {
		return ""
	}
	return brief(a.now().Sub(clock.FromMicros(micros)))
}

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
