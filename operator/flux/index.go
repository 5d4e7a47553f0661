package flux

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Index has the objects that are about something, for what only a reconcile finds out.
// The zero value is empty. It is safe for concurrent use.
type Index struct {
	mu   sync.Mutex
	keys map[types.NamespacedName][]string
	of   map[string][]types.NamespacedName
}

// Set replaces what an object is about; without keys, it is about nothing.
func (i *Index) Set(object types.NamespacedName, keys ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if slices.Equal(i.keys[object], keys) {
		return
	}
	if i.keys == nil {
		i.keys, i.of = map[types.NamespacedName][]string{}, map[string][]types.NamespacedName{}
	}
	for _, key := range i.keys[object] {
		if i.of[key] = slices.DeleteFunc(i.of[key], func(o types.NamespacedName) bool { return o == object }); len(i.of[key]) == 0 {
			delete(i.of, key)
		}
	}
	if delete(i.keys, object); len(keys) > 0 {
		i.keys[object] = slices.Clone(keys)
	}
	for _, key := range keys {
		i.of[key] = append(i.of[key], object)
	}
}

// Of returns the objects that are about a key.
func (i *Index) Of(key string) []types.NamespacedName {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.of[key])
}
