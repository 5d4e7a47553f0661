package mirror

import "github.com/axle-cd/axle/hub/gitcache/gitref"

// Diff is what a listing changes in a table. Pass See to Server.List, so that
// only the differences of the listing are kept.
type Diff struct {
	Changed Refs     // new, or pointing elsewhere
	Gone    []string // full names that the listing covers but does not have
	table   *Table
	seen    []uint64 // a bit for each of the table's
}

// Compare begins a comparison of the next listing with a table.
func (t *Table) Compare() *Diff {
	return &Diff{table: t, seen: make([]uint64, (t.refs.Len()+63)/64)}
}

// See handles one ref of the listing.
func (d *Diff) See(r gitref.Ref) error {
	i, ok := d.table.refs.find(r.Name)
	if ok {
		d.seen[i/64] |= 1 << (i % 64)
		if d.table.refs.ID(i) == r.ID {
			return nil
		}
	}
	return d.Changed.Add(r.Name, r.ID)
}

// End determines which names under the prefixes are gone.
func (d *Diff) End(prefixes []string) {
	for i := range d.table.refs.Len() {
		if d.seen[i/64]&(1<<(i%64)) != 0 {
			continue
		}
		if name := d.table.refs.Name(i); gitref.Under(name, prefixes) {
			d.Gone = append(d.Gone, name)
		}
	}
	d.seen = nil
}

// Empty reports whether the listing changes nothing.
func (d *Diff) Empty() bool { return d.Changed.Len() == 0 && len(d.Gone) == 0 }
