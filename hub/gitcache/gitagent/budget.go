package gitagent

import (
	"fmt"
	"sync"
)

// Budget limits the disk space of mirrors, each and all together. All agents of
// a replica share one. The nil Budget has no limits.
type Budget struct {
	// Each limits one mirror and Total all of them; zero means no limit.
	Each, Total int64

	mu   sync.Mutex
	used map[string]int64
}

// Used records the size of one repository's mirror; zero forgets it.
func (b *Budget) Used(repositoryID string, n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == nil {
		b.used = map[string]int64{}
	}
	if b.used[repositoryID] = n; n == 0 {
		delete(b.used, repositoryID)
	}
}

// Room returns by how many bytes a mirror of the given size may grow, and a
// description of the limit that applies. Own, when not zero, replaces Each.
func (b *Budget) Room(repositoryID string, size, own int64) (room int64, bound string) {
	each, total := own, int64(0)
	if b != nil {
		if each == 0 {
			each = b.Each
		}
		total = b.Total
	}
	room = int64(1) << 62
	if each > 0 {
		room, bound = each-size, fmt.Sprintf("%s for this repository", sizeOf(each))
	}
	if total > 0 {
		b.mu.Lock()
		rest := total - size
		for id, n := range b.used {
			if id != repositoryID {
				rest -= n
			}
		}
		b.mu.Unlock()
		if rest < room {
			room, bound = rest, fmt.Sprintf("%s for all mirrors of this replica", sizeOf(total))
		}
	}
	return room, bound
}
