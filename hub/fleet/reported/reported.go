// Package reported computes the hash over the stored statuses of each cluster,
// which is sent with the answer to every poll, and counts services by state,
// for alerts. hub/fleet calls it; it does no I/O.
//
// The hash is hex SHA-256 over "<service id> <hash>\n" in order of id, cut to
// the first 16 digits, and empty when there is no status. An agent that has
// reported statuses therefore notices when the hub lost them.
//
// The hash needs all statuses of a cluster. So that a report need not read
// those that it does not change, the statuses of large clusters that report to
// this replica are cached, with the edition that the database had when they
// were read. The edition in the database changes with every report, on
// whichever replica, and is never reused: while it equals the cached edition,
// the cached statuses are current.
//
// The counts of a cluster are stored with its hash, so the counts of the fleet
// come from rows that are read for the hashes anyway, and no query counts
// services.
//
// Invariants: at most 300,000 statuses are cached, about 45 MB; those of
// clusters with fewer than 64 are not cached, because reading them costs
// little.
package reported

import (
	"cmp"
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"
)

const (
	// digits is how much of the hash is sent: it only has to notice a loss,
	// twice in a row.
	digits = 16
	// worthKeeping and maxKept limit the cache.
	worthKeeping = 64
	maxKept      = 300_000
)

// Sum is what the database stores about a cluster's statuses as a whole.
type Sum struct {
	// Edition differs after every change; empty means none.
	Edition string
	Hash    string
	// Count is the number of statuses, and Counts the number per state, in
	// order; nil when another version of the hub stored them.
	Count  int
	Counts []Count
}

// State is a service's state as its agent reported it; both fields have closed
// lists of values.
type State struct {
	Sync   string `json:"sync"`
	Health string `json:"health"`
}

// Count is the number of services in a state.
type Count struct {
	State
	N int `json:"n"`
}

// Status is a stored status: its hash and the service's state. The zero value
// is none.
type Status struct {
	Hash string
	is   unique.Handle[State]
}

// StatusOf returns a status.
func StatusOf(hash string, is State) Status { return Status{hash, unique.Make(is)} }

// Statuses are the statuses of a cluster, by service, at one edition. They
// never change.
type Statuses struct {
	Sum
	ids []string
	all map[string]Status
}

// Of returns the statuses that were read, as the first of an edition.
func Of(all map[string]Status) *Statuses {
	return sum(all, slices.Sorted(maps.Keys(all)))
}

func sum(all map[string]Status, ids []string) *Statuses {
	s := &Statuses{Sum: Sum{Edition: rand.Text(), Count: len(ids)}, ids: ids, all: all}
	if len(ids) == 0 {
		return s
	}
	h, counts := sha256.New(), map[unique.Handle[State]]int{}
	line := make([]byte, 0, 256)
	for _, id := range ids {
		status := all[id]
		line = append(append(append(append(line[:0], id...), ' '), status.Hash...), '\n')
		h.Write(line)
		counts[status.is]++
	}
	s.Hash = hex.EncodeToString(h.Sum(nil))[:digits]
	for is, n := range counts {
		s.Counts = append(s.Counts, Count{is.Value(), n})
	}
	slices.SortFunc(s.Counts, func(a, b Count) int { return cmp.Or(cmp.Compare(a.Sync, b.Sync), cmp.Compare(a.Health, b.Health)) })
	return s
}

// With returns the statuses after a change, under a new edition; a zero value
// deletes a status.
func (s *Statuses) With(changes map[string]Status) *Statuses {
	all := maps.Clone(s.all)
	if all == nil {
		all = map[string]Status{}
	}
	came, went := false, false
	for id, status := range changes {
		_, had := all[id]
		if status.Hash == "" {
			delete(all, id)
			went = went || had
			continue
		}
		all[id] = status
		came = came || !had
	}
	if came || went {
		return sum(all, slices.Sorted(maps.Keys(all)))
	}
	return sum(all, s.ids)
}

// Clusters caches the sums of all clusters, and the statuses of some.
type Clusters struct {
	mu   sync.RWMutex
	sums map[string]known
	// services is the number of services by state, over all sums.
	services map[State]int
	kept     map[string]*list.Element // of *held
	// order has the most recently used first; total counts their statuses.
	order *list.List
	total int
}

// known is the part of a sum that callers need.
type known struct {
	hash   string
	counts []Count
}

type held struct {
	clusterID string
	statuses  *Statuses
}

// New returns an empty Clusters.
func New() *Clusters {
	return &Clusters{sums: map[string]known{}, services: map[State]int{}, kept: map[string]*list.Element{}, order: list.New()}
}

// Hash returns the hash over a cluster's statuses.
func (c *Clusters) Hash(clusterID string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.sums[clusterID].hash
}

// Services returns the number of services by state, over all known clusters.
// Its cost does not depend on their number.
func (c *Clusters) Services() map[State]int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return maps.Clone(c.services)
}

// Load replaces the sums of all clusters.
func (c *Clusters) Load(sums map[string]Sum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sums, c.services = make(map[string]known, len(sums)), map[State]int{}
	for id, s := range sums {
		c.setLocked(id, s)
	}
}

// Set replaces the sums of some clusters; a cluster without a sum has no
// statuses.
func (c *Clusters) Set(clusterIDs []string, sums map[string]Sum) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range clusterIDs {
		c.setLocked(id, sums[id])
	}
}

func (c *Clusters) setLocked(clusterID string, s Sum) {
	for _, one := range c.sums[clusterID].counts {
		if c.services[one.State] -= one.N; c.services[one.State] == 0 {
			delete(c.services, one.State)
		}
	}
	for _, one := range s.Counts {
		c.services[one.State] += one.N
	}
	if s.Hash == "" {
		delete(c.sums, clusterID)
		return
	}
	c.sums[strings.Clone(clusterID)] = known{s.Hash, s.Counts}
}

// At returns a cluster's statuses at an edition, nil when they are not cached.
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

// Keep caches what was stored for a cluster. Statuses that were not committed
// after all do no harm: their edition never equals the database's.
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

// Forget drops a deleted cluster.
func (c *Clusters) Forget(clusterID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setLocked(clusterID, Sum{})
	if e := c.kept[clusterID]; e != nil {
		c.drop(e)
	}
}

func (c *Clusters) drop(e *list.Element) {
	h := c.order.Remove(e).(*held)
	delete(c.kept, h.clusterID)
	c.total -= h.statuses.Count
}
