package cost

import (
	"container/list"
	"sync"
)

// Cache keeps what was made from a key, up to a total weight; what was used longest ago
// goes first. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	most int

	mu     sync.Mutex
	weight int
	order  *list.List
	at     map[K]*list.Element
}

type cached[K comparable, V any] struct {
	key    K
	value  V
	weight int
}

// NewCache returns a cache of at most so much weight.
func NewCache[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, order: list.New(), at: map[K]*list.Element{}}
}

// Get returns what was put under a key.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.at[key]
	if !ok {
		return v, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cached[K, V]).value, true
}

// Put keeps a value. One that is heavier than a quarter of the cache is not kept, because
// too much would go for it.
func (c *Cache[K, V]) Put(key K, v V, weight int) {
	if weight > c.most/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.at[key]; ok {
		c.drop(e)
	}
	c.at[key] = c.order.PushFront(cached[K, V]{key, v, weight})
	for c.weight += weight; c.weight > c.most; {
		c.drop(c.order.Back())
	}
}

func (c *Cache[K, V]) drop(e *list.Element) {
	one := c.order.Remove(e).(cached[K, V])
	c.weight -= one.weight
	delete(c.at, one.key)
}
