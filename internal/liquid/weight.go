package liquid

import (
	"reflect"
	"time"
)

const (
	// word is the weight of a value beside its text.
	word = 16
	// deepest is how far lists and maps may be within each other: deeper ones, and those
	// that contain themselves, have no weight.
	deepest = 100
)

// weighing adds up a value with everything in it, also what it has more than once: that is
// what a filter reads, and what is printed.
type weighing struct {
	bytes, most int
	// widest is what one comparison or one loop may have to go through: the length of a
	// list with all lists in it, of a map, or a sixteenth of a text, in bytes.
	widest int
}

// weigh returns the weight of a value; ok is false if it is more than most, or too deep.
func weigh(v any, most int) (w weighing, ok bool) {
	w.most = most
	return w, w.add(v, 0)
}

func (w *weighing) add(v any, depth int) bool {
	if w.bytes += word; w.bytes > w.most || depth > deepest {
		return false
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64, time.Time:
		return true
	case string:
		return w.text(len(v))
	case []any:
		before := w.bytes
		for _, item := range v {
			if !w.add(item, depth+1) {
				return false
			}
		}
		w.widest = max(w.widest, w.bytes-before)
		return true
	case map[string]any:
		w.widest = max(w.widest, len(v)*word)
		for key, item := range v {
			if !w.text(len(key)) || !w.add(item, depth+1) {
				return false
			}
		}
		return true
	}
	return w.reflected(reflect.ValueOf(v), depth)
}

func (w *weighing) text(n int) bool {
	w.bytes += n
	w.widest = max(w.widest, n/word)
	return w.bytes <= w.most
}

// reflected weighs what filters return in other types.
func (w *weighing) reflected(r reflect.Value, depth int) bool {
	switch r.Kind() {
	case reflect.String:
		return w.text(r.Len())
	case reflect.Slice, reflect.Array:
		if r.Type().Elem().Kind() == reflect.Uint8 {
			return w.text(r.Len())
		}
		before := w.bytes
		for i := range r.Len() {
			if !w.add(r.Index(i).Interface(), depth+1) {
				return false
			}
		}
		w.widest = max(w.widest, w.bytes-before)
	case reflect.Map:
		w.widest = max(w.widest, r.Len()*word)
		for each := r.MapRange(); each.Next(); {
			if !w.add(each.Key().Interface(), depth+1) || !w.add(each.Value().Interface(), depth+1) {
				return false
			}
		}
	}
	return true
}
