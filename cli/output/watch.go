package output

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// watchEvery is the least mean time between two readings of a watched list.
	watchEvery = 2 * time.Second
	// watchShare bounds what a watch costs the hub: after a reading, it waits
	// at least this many times as long as the reading took.
	watchShare = 20
)

// Watch prints a list and then the rows that change, until ctx ends; that is no
// error. It asks read again and again, with jitter. A row that is gone is
// named on Err. An error of the first reading ends it; a later one that
// Again accepts is named once on Err, and the next reading follows.
//
// Programs get one JSON or YAML document, or one filled template, for each
// item that is new or changed.
func Watch[T any](ctx context.Context, p Printer, w Watched[T]) error {
	t := newTable(p, w.Columns)
	seen, trouble := map[string]string{}, ""
	for first := true; ; first = false {
		began := time.Now()
		items, err := w.Read(ctx)
		took := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first || w.Again == nil || !w.Again(err)):
			return err
		case err != nil:
			if trouble != err.Error() {
				trouble = err.Error()
				fmt.Fprintf(p.Err, "%s; trying again\n", trouble)
			}
		default:
			trouble = ""
			if err := changes(p, t, w, items, seen); err != nil {
				return err
			}
		}
		wait := max(w.Every, watchShare*took)
		if w.Every == 0 {
			wait = max(watchEvery, wait)
		}
		if jitter.Wait(ctx, wait/2+jitter.Full(wait)) != nil {
			return nil
		}
	}
}

// Watched is a list that Watch follows.
type Watched[T any] struct {
	// Read returns the present items.
	Read func(ctx context.Context) ([]T, error)
	// Every is the mean time between readings at least; zero is 2 s.
	Every time.Duration
	// Stream is true if each reading returns only items that are new. They are
	// not compared with earlier ones, and none is ever gone.
	Stream bool
	// Again reports whether reading may succeed after an error. Nil means
	// never.
	Again func(error) bool
	// Name identifies an item.
	Name    func(T) string
	Columns []Column[T]
}

// changes prints what differs from seen, and notes it there.
func changes[T any](p Printer, t *table[T], w Watched[T], items []T, seen map[string]string) error {
	if w.Stream {
		return show(p, t, w, items)
	}
	var changed []T
	present := make(map[string]bool, len(items))
	for _, item := range items {
		name, now := w.Name(item), fingerprint(w.Columns, item)
		present[name] = true
		if before, had := seen[name]; !had || before != now {
			seen[name] = now
			changed = append(changed, item)
		}
	}
	var gone []string
	for name := range seen {
		if !present[name] {
			gone = append(gone, name)
			delete(seen, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		fmt.Fprintf(p.Err, "%s is gone\n", name)
	}
	return show(p, t, w, changed)
}

// show prints items, the titles of a table only once.
func show[T any](p Printer, t *table[T], w Watched[T], items []T) error {
	switch {
	case len(items) == 0:
		return nil
	case p.names():
		return List(p, items, w.Name, w.Columns)
	case Human(p.Format):
		return t.write(items)
	}
	for _, item := range items {
		if p.Format == YAML {
			if _, err := fmt.Fprintln(p.Out, "---"); err != nil {
				return err
			}
		}
		if err := Write(p.Out, p.Format, p.value(item)); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint is what of an item is watched: all columns, also those that are
// not shown, except ages.
func fingerprint[T any](columns []Column[T], item T) string {
	var texts []string
	for _, c := range columns {
		if !c.Ages {
			texts = append(texts, c.Text(item))
		}
	}
	return strings.Join(texts, "\x00")
}
