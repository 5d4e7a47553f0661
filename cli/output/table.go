package output

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/axle-cd/axle/internal/plain"
)

// Column is one column of a table of T, or one line of a single T.
type Column[T any] struct {
	Title string
	Text  func(T) string
	// Wide is true for columns that only -o wide shows.
	Wide bool
	// Ages is true for columns that change by time alone. A watched list
	// prints no row for that.
	Ages bool
}

// Printer says how one command prints. All fields but NoHeaders and Quiet must
// be set.
type Printer struct {
	Out, Err io.Writer
	// Format is the value of -o; Check accepts it.
	Format string
	// NoHeaders leaves the titles of tables out.
	NoHeaders bool
	// Quiet prints names in place of tables.
	Quiet bool
	// Colours is true if tables may have colours.
	Colours bool
	// Value returns what is encoded for programs in place of an item. Nil is
	// the item itself.
	Value func(item any) any
}

// value is an item as programs get it.
func (p Printer) value(item any) any {
	if p.Value == nil {
		return item
	}
	return p.Value(item)
}

// names reports whether only names are printed.
func (p Printer) names() bool { return p.Format == Name || p.Quiet && Human(p.Format) }

// List writes items in the chosen format. JSON and YAML are arrays, also when
// there are no items.
func List[T any](p Printer, items []T, name func(T) string, columns []Column[T]) error {
	switch {
	case p.names():
		for _, item := range items {
			if _, err := fmt.Fprintln(p.Out, name(item)); err != nil {
				return err
			}
		}
		return nil
	case p.Format == CSV:
		return separated(p, items, columns)
	case Human(p.Format):
		if len(items) == 0 {
			_, err := fmt.Fprintln(p.Err, "nothing found")
			return err
		}
		t := newTable(p, columns)
		return t.write(items)
	}
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = p.value(item)
	}
	return Write(p.Out, p.Format, values)
}

// separated writes all columns of a table as CSV, also the wide ones. No text is cut.
func separated[T any](p Printer, items []T, columns []Column[T]) error {
	w, row := csv.NewWriter(p.Out), make([]string, len(columns))
	if !p.NoHeaders {
		for i, c := range columns {
			row[i] = c.Title
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	for _, item := range items {
		for i, c := range columns {
			row[i] = whole(c.Text(item))
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// One writes one item. A table shows its fields as lines.
func One[T any](p Printer, item T, name func(T) string, lines []Column[T]) error {
	switch {
	case p.names():
		_, err := fmt.Fprintln(p.Out, name(item))
		return err
	case p.Format == CSV:
		return separated(p, []T{item}, lines)
	case Human(p.Format):
		w := tabwriter.NewWriter(p.Out, 0, 4, 2, ' ', 0)
		for _, l := range shown(p, lines) {
			if text := l.Text(item); text != "" {
				fmt.Fprintf(w, "%s:\t%s\n", l.Title, strings.ReplaceAll(text, "\n", "\n\t"))
			}
		}
		return w.Flush()
	}
	return Write(p.Out, p.Format, p.value(item))
}

// shown are the columns of the chosen format.
func shown[T any](p Printer, columns []Column[T]) []Column[T] {
	return slices.DeleteFunc(slices.Clone(columns), func(c Column[T]) bool { return c.Wide && p.Format != WideTable })
}

// table writes rows that are aligned by their width on the terminal, ignoring
// colour codes. Widths only grow, so that rows written later stay aligned.
type table[T any] struct {
	to      io.Writer
	columns []Column[T]
	widths  []int
	header  bool
	colours bool
	// wide leaves the last column whole, which nothing is aligned behind.
	wide bool
}

func newTable[T any](p Printer, columns []Column[T]) *table[T] {
	columns = shown(p, columns)
	return &table[T]{to: Raw(p.Out), columns: columns, widths: make([]int, len(columns)), header: !p.NoHeaders, colours: p.Colours, wide: p.Format == WideTable}
}

// cells are the texts of one row.
func (t *table[T]) cells(item T) []string {
	row := make([]string, len(t.columns))
	for i, c := range t.columns {
		row[i] = OneLine(c.Text(item))
		if t.wide && i == len(t.columns)-1 {
			row[i] = whole(c.Text(item))
		}
	}
	return row
}

// write writes the items, and the titles before the first.
func (t *table[T]) write(items []T) error {
	var rows [][]string
	if t.header {
		head := make([]string, len(t.columns))
		for i, c := range t.columns {
			head[i] = c.Title
		}
		rows = append(rows, head)
	}
	for _, item := range items {
		rows = append(rows, t.cells(item))
	}
	for _, row := range rows {
		for i, text := range row {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(t.to, t.line(row, t.colours && !t.header)); err != nil {
			return err
		}
		t.header = false
	}
	return nil
}

func (t *table[T]) line(row []string, colours bool) string {
	var line strings.Builder
	for i, text := range row {
		padding := ""
		if i < len(row)-1 {
			padding = strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(text)+2)
		}
		if colours {
			text = paint(text)
		}
		line.WriteString(text + padding)
	}
	return strings.TrimRight(line.String(), " ")
}

// OneLine puts text on one line of at most 120 characters, for the row of a
// table. An empty text is "-".
func OneLine(text string) string {
	text = whole(text)
	if utf8.RuneCountInString(text) > 120 {
		text = string([]rune(text)[:119]) + "…"
	}
	return text
}

// whole is OneLine without its limit.
func whole(text string) string {
	if text = plain.Line(text, 0); text == "" {
		return "-"
	}
	return text
}

// Colourful reports whether w is a terminal that shows colours.
func Colourful(w io.Writer, getenv func(string) string) bool {
	return getenv("NO_COLOR") == "" && IsTerminal(w)
}

// IsTerminal reports whether w writes to a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := Raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Raw returns the underlying stream, for this program's own colours and
// rewritten lines. Text from anywhere else must be made plain first.
func Raw(w io.Writer) io.Writer {
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
