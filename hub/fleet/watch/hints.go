package watch

import (
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
)

const (
	// lately is how long after a change a stream that asks for its hint anew is told of
	// it. Whoever asks has read their page shortly before, and a change between the two
	// would reach nobody: what has ended by then never changes again. A page asks within
	// a second or two; the rest is for slow lines.
	lately = 10 * time.Second
	// maxScopes is how many scopes of changes are kept to decide who gets a hint.
	maxScopes = 256
)

// hints are those that are due, and what the changes behind each were of.
type hints map[string]due

type due struct {
	// at is when the last of the changes was.
	at time.Time
	// scopes is nil when nobody can say what a change was of, or there is too much of it.
	scopes []identity.Scope
}

// add adds the hint of a change.
func (h hints) add(hint string, scopes []identity.Scope, at time.Time) {
	d, known := h[hint]
	switch {
	case !known:
		d.scopes = slices.Clone(scopes)
	case d.scopes == nil || scopes == nil || len(d.scopes)+len(scopes) > maxScopes:
		d.scopes = nil
	default:
		d.scopes = append(d.scopes, scopes...)
	}
	d.at = at
	h[hint] = d
}

// within returns the hints of what is within reach, sorted.
func (h hints) within(reach identity.Reach) (names []string) {
	all := reach.Hub()
	for hint, d := range h {
		if all || d.scopes == nil || slices.ContainsFunc(d.scopes, reach.Covers) {
			names = append(names, hint)
		}
	}
	slices.Sort(names)
	return names
}

func hintsOf(c index.Change) []string {
	if c.All {
		return index.Hints
	}
	return c.Hints
}

// note keeps the hints of a change for the streams that ask for them next.
func (s *Streams) note(c index.Change) {
	now := s.config.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hint := range hintsOf(c) {
		if now.Sub(s.noted[hint].at) > lately {
			delete(s.noted, hint)
		}
		s.noted.add(hint, c.Scopes, now)
	}
}

// missed gives a stream the hints of the last seconds that it had not asked for before.
func (s *Streams) missed(one *Stream, before map[string]bool) {
	now := s.config.Clock.Now()
	var changes []index.Change
	s.mu.Lock()
	for hint, d := range s.noted {
		if !before[hint] && now.Sub(d.at) <= lately {
			changes = append(changes, index.Change{Hints: []string{hint}, Scopes: slices.Clone(d.scopes)})
		}
	}
	s.mu.Unlock()
	for _, c := range changes {
		one.take(c)
	}
}
