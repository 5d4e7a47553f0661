// Package overlay lays maps of decoded values over others, as charts do with their values.
// It decodes nothing, and knows no meaning of a null.
//
// Invariant: maps are merged; everything else, lists too, is replaced. Nothing that is put
// over a map is changed later by another one that is put over it.
package overlay

// Merge lays values over those of into.
func Merge(into, over map[string]any) {
	for key, value := range over {
		above, isMap := value.(map[string]any)
		if !isMap {
			into[key] = value
			continue
		}
		below, both := into[key].(map[string]any)
		if !both {
			below = make(map[string]any, len(above))
			into[key] = below
		}
		Merge(below, above)
	}
}
