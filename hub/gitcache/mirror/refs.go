package mirror

import (
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"sort"
	"strings"
)

// Refs is a compact list of refs: a name costs its bytes and four more, an id
// 20 or 32. The zero value is empty.
type Refs struct {
	names []byte   // one after the other, without "refs/"
	ends  []uint32 // where each name ends
	ids   []byte   // one after the other
	size  int      // bytes of an id
}

const refsPrefix = "refs/"

// Len returns how many refs there are.
func (r *Refs) Len() int { return len(r.ends) }

// Add appends a ref. Names must begin with "refs/"; all ids have one length.
func (r *Refs) Add(name, id string) error {
	if r.size == 0 {
		r.size = len(id) / 2
	}
	if !strings.HasPrefix(name, refsPrefix) || len(id) != 2*r.size || len(r.names)+len(name) > math.MaxUint32 {
		return fmt.Errorf("ref %.100q at %.70q does not match the list", name, id)
	}
	raw, err := hex.AppendDecode(r.ids, []byte(id))
	if err != nil {
		return err
	}
	r.ids = raw
	r.names = append(r.names, name[len(refsPrefix):]...)
	r.ends = append(r.ends, uint32(len(r.names)))
	return nil
}

// short returns a name without "refs/".
func (r *Refs) short(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.names[from:r.ends[i]]
}

// Name returns one full name.
func (r *Refs) Name(i int) string { return refsPrefix + string(r.short(i)) }

// ID returns what one ref points at.
func (r *Refs) ID(i int) string { return hex.EncodeToString(r.ids[i*r.size : (i+1)*r.size]) }

// All yields every ref in the order of adding.
func (r *Refs) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range r.Len() {
			if !yield(r.Name(i), r.ID(i)) {
				return
			}
		}
	}
}

// find searches a list that was added in order for a full name.
func (r *Refs) find(name string) (int, bool) {
	short, ok := strings.CutPrefix(name, refsPrefix)
	if !ok {
		return 0, false
	}
	return sort.Find(r.Len(), func(i int) int { return strings.Compare(short, string(r.short(i))) })
}

// clip frees excess capacity.
func (r *Refs) clip() {
	r.names, r.ends, r.ids = append([]byte(nil), r.names...), append([]uint32(nil), r.ends...), append([]byte(nil), r.ids...)
}
