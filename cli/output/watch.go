package output

import (
	"context"
	"fmt"
	"maps"
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
// error. With Open, the hub sends what changes, and the list is read again only when the
// hub asks for it; else it is read again and again, with jitter. A row that is gone is
// named on Err. An error of the first reading ends it; a later one that
// Again accepts is named once on Err, and the next reading follows.
//
// Programs get one JSON value on a line, one YAML document, or one filled template, for
// each item that is new or changed.
func Watch[T any](ctx context.Context, p Printer, w Watched[T]) error {
	f := following[T]{p: p, w: w, table: newTable(p, w.Columns), seen: map[string]row{}, names: map[string]string{}}
	trouble := ""
	for first := true; ; first = false {
		took, err := f.round(ctx, func() { trouble = "" })
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (first && !f.began || w.Again == nil || !w.Again(err)):
			return err
		case err != nil && trouble != err.Error():
			trouble = err.Error()
			fmt.Fprintf(p.Err, "%s; trying again\n", trouble)
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
	// Open begins to follow the list, before it is read. A nil Follower means that the
	// hub cannot say what changes. Nil reads the list again and again.
	Open func(ctx context.Context) (Follower[T], error)
	// Followed reports, after a reading, whether the hub follows the list. Nil is yes.
	Followed func() bool
	// Stream is true if each reading returns only items that are new. They are
	// not compared with earlier ones, and none is ever gone.
	Stream bool
	// Again reports whether reading may succeed after an error. Nil means
	// never.
	Again func(error) bool
	// Name identifies an item, and ID does in Changed.Gone.
	Name    func(T) string
	ID      func(T) string
	Columns []Column[T]
}

// Changed is what a hub says of a list.
type Changed[T any] struct {
	Items []T
	// Gone are ids.
	Gone []string
	// Again asks for another reading of the list.
	Again bool
}

// Follower follows one list.
type Follower[T any] interface {
	// Next waits for a change.
	Next() (Changed[T], error)
	Close()
}

// row is a row that was printed.
type row struct{ id, fingerprint string }

// following is a list in the course of Watch. seen are its rows by name, names those
// names by id.
type following[T any] struct {
	p     Printer
	w     Watched[T]
	table *table[T]
	seen  map[string]row
	names map[string]string
	// began is set once the list was read.
	began bool
}

// round reads the list once and prints what differs. Then it prints what changes, until
// another reading is due. It returns how long the reading took, and calls read after it.
func (f *following[T]) round(ctx context.Context, read func()) (took time.Duration, err error) {
	var stream Follower[T]
	if f.w.Open != nil {
		if stream, err = f.w.Open(ctx); err != nil {
			return 0, err
		}
	}
	if stream != nil {
		defer stream.Close()
	}
	start := time.Now()
	items, err := f.w.Read(ctx)
	took = time.Since(start)
	if err != nil {
		return took, err
	}
	f.began = true
	read()
	if err := f.list(items); err != nil || stream == nil || f.w.Followed != nil && !f.w.Followed() {
		return took, err
	}
	for {
		c, err := stream.Next()
		if err != nil || c.Again {
			return took, err
		}
		if err := f.apply(c); err != nil {
			return took, err
		}
	}
}

// list prints what differs from the rows before.
func (f *following[T]) list(items []T) error {
	if f.w.Stream {
		return show(f.p, f.table, f.w, items)
	}
	present := make(map[string]bool, len(items))
	for _, item := range items {
		present[f.w.Name(item)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(f.seen)) {
		if !present[name] {
			f.gone(name)
		}
	}
	return f.changed(items)
}

// apply prints what a hub says of the list. Something of the same name may come in the
// place of what is gone.
func (f *following[T]) apply(c Changed[T]) error {
	for _, id := range c.Gone {
		if name, had := f.names[id]; had && f.seen[name].id == id {
			f.gone(name)
		}
	}
	return f.changed(c.Items)
}

func (f *following[T]) gone(name string) {
	delete(f.names, f.seen[name].id)
	delete(f.seen, name)
	fmt.Fprintf(f.p.Err, "%s is gone\n", name)
}

// changed prints those of the items that are new or differ.
func (f *following[T]) changed(items []T) error {
	var differ []T
	for _, item := range items {
		name, now := f.w.Name(item), row{fingerprint: fingerprint(f.w.Columns, item)}
		if f.w.ID != nil {
			now.id = f.w.ID(item)
			f.names[now.id] = name
		}
		if before, had := f.seen[name]; !had || before.fingerprint != now.fingerprint {
			differ = append(differ, item)
		}
		f.seen[name] = now
	}
	return show(f.p, f.table, f.w, differ)
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
		write := Write
		if p.Format == JSON {
			write = line
		}
		if err := write(p.Out, p.Format, p.value(item)); err != nil {
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
