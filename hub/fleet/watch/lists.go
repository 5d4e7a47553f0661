package watch

import (
	"maps"
	"slices"

	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// MaxRows is how many rows of lists a batch has at most.
	MaxRows = 200
	// maxMarked is how many changes a stream holds for each of its lists. With more, its
	// reader is slower than the fleet and reads the list again.
	maxMarked = 10_000
	// maxHeld is how many rows all lists of a replica have together, about 25 bytes each,
	// ownHeld how many of them those of one caller, and adminsHeld those for administrators.
	maxHeld    = 2_000_000
	ownHeld    = maxHeld / 4
	adminsHeld = maxHeld / 10
)

// rows is a list that a stream follows: what it has, and what may have changed of it.
// It sends no row at the beginning, since its reader reads the list.
type rows struct {
	// match returns those of the ids that the list has, all when ids is nil.
	match func(ids []string, reach identity.Reach) ([]string, error)
	// ofClusters returns the rows of clusters; nil when rows are clusters.
	ofClusters func(clusters map[string]bool) []string
	// marked is what changed since the last batch, held what the list had then.
	marked, held map[string]bool
	// places are as many as the list has rows.
	places *pool.Held
	// reach is what the last batch was for.
	reach identity.Reach
	again bool
}

// lists returns the lists of topics.
func (s *Streams) lists(t Topics) (all []*rows) {
	if f := t.ServiceList; f != nil {
		all = append(all, &rows{ofClusters: s.config.Index.ServicesOf, marked: map[string]bool{}, match: func(ids []string, reach identity.Reach) ([]string, error) {
			return s.config.Index.MatchServices(*f, ids, reach)
		}})
	}
	if f := t.ClusterList; f != nil {
		all = append(all, &rows{marked: map[string]bool{}, match: func(ids []string, reach identity.Reach) (matching []string, _ error) {
			hits, err := s.config.Index.MatchClusters(*f, ids, reach)
			for _, h := range hits {
				matching = append(matching, h.ID)
			}
			return matching, err
		}})
	}
	return all
}

// hold notes what a list has now. The stream is registered before, so that no change
// between is lost.
func (s *Stream) hold(reach identity.Reach) error {
	for _, l := range s.lists {
		ids, err := l.match(nil, reach)
		if err != nil {
			return err
		}
		held, err := s.of.rows.TakeMany(s.caller.Sharing(), len(ids))
		if err != nil {
			return err
		}
		s.keep(held)
		l.places = held
		l.held, l.reach = set(ids), reach
	}
	return nil
}

// mark notes what a change is about. all is set when that is unknown.
func (l *rows) mark(ids []string, all bool) {
	if all || len(l.marked)+len(ids) > maxMarked {
		l.again = true
		clear(l.marked)
		return
	}
	for _, id := range ids {
		l.marked[id] = true
	}
}

// follow marks what a change is about in the stream's lists. It never waits.
func (s *Stream) follow(c index.Change) {
	s.markLists(func(l *rows) {
		if l.ofClusters != nil {
			l.mark(c.Services, c.All)
		} else {
			l.mark(c.Clusters, c.All)
		}
	})
}

// followMoved marks the rows of clusters whose freshness or tunnels changed. The time of
// a poll is no change of a row.
func (s *Stream) followMoved(clusters map[string]bool) {
	s.markLists(func(l *rows) {
		if l.ofClusters != nil {
			l.mark(l.ofClusters(clusters), false)
		} else {
			l.mark(slices.Collect(maps.Keys(clusters)), false)
		}
	})
}

func (s *Stream) markLists(mark func(*rows)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lists {
		if mark(l); l.again || len(l.marked) > 0 {
			s.poke()
		}
	}
}

// take removes up to MaxRows marks.
func (l *rows) take() []string {
	ids := make([]string, 0, min(len(l.marked), MaxRows))
	for id := range l.marked {
		if len(ids) == MaxRows {
			break
		}
		ids = append(ids, id)
		delete(l.marked, id)
	}
	return ids
}

// ofLists adds what changed of the lists to a batch.
func (s *Stream) ofLists(b *Batch, reach identity.Reach) error {
	for _, l := range s.lists {
		s.mu.Lock()
		again := l.again || !l.reach.Same(reach)
		l.again = false
		if again {
			clear(l.marked)
		}
		ids := l.take()
		if len(l.marked) > 0 {
			s.poke()
		}
		s.mu.Unlock()
		if again {
			b.Again = true
			if err := s.holdAgain(l, reach); err != nil {
				return err
			}
			continue
		}
		if len(ids) == 0 {
			continue
		}
		matching, err := l.match(ids, reach)
		if err != nil {
			return err
		}
		b.Gone = append(b.Gone, s.compare(l, ids, matching)...)
		if l.ofClusters != nil {
			b.ServiceList = matching
		} else if b.ClusterList, err = s.of.config.Index.ClustersByID(matching, reach); err != nil {
			return err
		}
	}
	slices.Sort(b.Gone)
	b.Gone = slices.Compact(b.Gone)
	return nil
}

// holdAgain notes what a list has now, whose reader reads it again.
func (s *Stream) holdAgain(l *rows, reach identity.Reach) error {
	ids, err := l.match(nil, reach)
	if err != nil {
		return err
	}
	l.places.Grow(len(ids) - len(l.held))
	s.mu.Lock()
	defer s.mu.Unlock()
	l.held, l.reach = set(ids), reach
	return nil
}

// compare notes which of the ids a list has now, and returns those that it no longer has.
func (s *Stream) compare(l *rows, ids, matching []string) (gone []string) {
	now := set(matching)
	s.mu.Lock()
	before := len(l.held)
	for _, id := range ids {
		switch {
		case now[id]:
			l.held[id] = true
		case l.held[id]:
			delete(l.held, id)
			gone = append(gone, id)
		}
	}
	grown := len(l.held) - before
	s.mu.Unlock()
	l.places.Grow(grown)
	return gone
}
