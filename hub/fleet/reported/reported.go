// Package reported knows the hash over what is stored of each cluster's
// statuses, which goes with the answer to every poll. hub/fleet calls it; it
// reads and writes nothing.
//
// The hash is hex SHA-256 over "<service id> <hash>\n" in order of id, first 16
// digits, and empty without any status, so an agent that reported some notices
// a hub that lost all.
//
// A hash over all needs all. So that a report does not read what it does not
// change, the statuses of large clusters that report here are kept, with the
// edition of what the database had when they were read. The database's edition
// changes with every report, wherever it was taken, and is never used twice: as
// long as it is the one that is kept, so are the statuses.
//
// What holds: at most 300,000 statuses are kept, some 40 MB; of clusters with
// fewer than 64 none are, since reading them costs little.
package reported

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// digits is how much of the hash is sent: it only has to notice a loss,
	// twice in a row.
	digits = 16
	// worthKeeping and maxKept bound what is kept.
	worthKeeping = 64
	maxKept      = 300_000
)

// Sum is what the database has of a cluster's statuses.
type Sum struct {
	// Edition is another one after every change; empty is none.
	Edition string
	Hash    string
	// Count is how many there are.
	Count int
}

// Statuses are the hashes of a cluster's statuses, by service, at one edition.
// They never change.
type Statuses struct {
	Sum
	ids    []string
	hashes map[string]string
}

// Of returns statuses that were read, as the first of an edition.
func Of(hashes map[string]string) *Statuses {
	return sum(hashes, slices.Sorted(maps.Keys(hashes)))
}

func sum(hashes map[string]string, ids []string) *Statuses {
	s := &Statuses{Sum: Sum{Edition: rand.Text(), Count: len(ids)}, ids: ids, hashes: hashes}
	if len(ids) == 0 {
		return s
	}
	h := sha256.New()
	line := make([]byte, 0, 256)
	for _, id := range ids {
		line = append(append(append(append(line[:0], id...), ' '), hashes[id]...), '\n')
		h.Write(line)
	}
	s.Hash = hex.EncodeToString(h.Sum(nil))[:digits]
	return s
}

// With returns the statuses after a change, under an edition of their own; an
// empty hash is of a status that goes.
func (s *Statuses) With(changes map[string]string) *Statuses {
	hashes := maps.Clone(s.hashes)
	if hashes == nil {
		hashes = map[string]string{}
	}
	came, went := false, false
	for id, hash := range changes {
		_, had := hashes[id]
		if hash == "" {
			delete(hashes, id)
			went = went || had
			continue
		}
		hashes[id] = hash
		came = came || !had
	}
	if came || went {
		return sum(hashes, slices.Sorted(maps.Keys(hashes)))
	}
	return sum(hashes, s.ids)
}

// Clusters are the sums of all clusters, and the statuses of some.
type Clusters struct {
	mu   sync.RWMutex
	sums map[string]string
	kept map[string]*list.Element // of *held
	// order has the ones used last first; total counts their statuses.
	order *list.List
	total int
}

type held struct {
	clusterID string
	statuses  *Statuses
}

// New knows nothing.
func New() *Clusters {
	return &Clusters{sums: map[string]string{}, kept: map[string]*list.Element{}, order: list.New()}
}

// Hash returns the hash over a cluster's statuses.
func (c *Clusters) Hash(clusterID string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.sums[clusterID]
}

// Load replaces all hashes.
func (c *Clusters) Load(sums map[string]Sum) {
	hashes := make(map[string]string, len(sums))
	for id, s := range sums {
		hashes[id] = s.Hash
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums = hashes
}

// Set replaces the hashes of some clusters; one without a sum has none.
func (c *Clusters) Set(clusterIDs []string, sums map[string]Sum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range clusterIDs {
		if hash := sums[id].Hash; hash != "" {
			c.sums[strings.Clone(id)] = hash
		} else {
			delete(c.sums, id)
		}
	}
}

// At returns a cluster's statuses at an edition, nil when they are not kept.
func (c *Clusters) At(clusterID, edition string) *Statuses {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.kept[clusterID]
	if e == nil || edition == "" {
		return nil
	}
	s := e.Value.(*held).statuses
	if s.Edition != edition {
		return nil
	}
	c.order.MoveToFront(e)
	return s
}

// Keep keeps what was stored for a cluster. Statuses that were not committed
// after all do no harm: their edition is never the database's.
func (c *Clusters) Keep(clusterID string, s *Statuses) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.kept[clusterID]; e != nil {
		c.drop(e)
	}
	if s.Count < worthKeeping {
		return
	}
	c.kept[clusterID] = c.order.PushFront(&held{clusterID, s})
	for c.total += s.Count; c.total > maxKept; {
		c.drop(c.order.Back())
	}
}

// Forget drops a cluster that is gone.
func (c *Clusters) Forget(clusterID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sums, clusterID)
	if e := c.kept[clusterID]; e != nil {
		c.drop(e)
	}
}

func (c *Clusters) drop(e *list.Element) {
	h := c.order.Remove(e).(*held)
	delete(c.kept, h.clusterID)
	c.total -= h.statuses.Count
}
