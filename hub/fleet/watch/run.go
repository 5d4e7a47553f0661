package watch

import (
	"context"
	"maps"

	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

// Run checks the callers of the streams, and compares what changes without a row of the
// feed, until the context ends. Then it ends all streams.
func (s *Streams) Run(ctx context.Context) error {
	for second := 0; ; second++ {
		select {
		case <-ctx.Done():
			s.mu.Lock()
			s.stopped = true
			s.mu.Unlock()
			for _, one := range s.list() {
				one.end(errStopping)
			}
			return nil
		case <-s.config.Clock.After(lookEvery):
		}
		s.look(ctx)
		if second%compareEvery == 0 {
			s.compare(second%pollsEvery == 0)
		}
	}
}

// look ends the streams whose callers may no longer have them. Each token is checked
// once; a check that fails for technical reasons ends nothing.
func (s *Streams) look(ctx context.Context) {
	asked := map[string]error{}
	for _, one := range s.list() {
		err, known := asked[one.caller.TokenID]
		if !known {
			_, err = one.reach(ctx)
			asked[one.caller.TokenID] = err
		}
		switch {
		case err == nil:
		case errcode.Is(err, errcode.Unauthorized):
			one.end(errEnded)
		case errcode.Is(err, errcode.Forbidden), errcode.Is(err, errcode.NotFound):
			one.end(err)
		}
	}
}

// compare tells the streams which of their clusters became Fresh or Stale, whose tunnels
// changed and, with polls, which polled. Without streams it does nothing.
func (s *Streams) compare(polls bool) {
	streams := s.list()
	if len(streams) == 0 {
		return
	}
	now := s.config.Index.Moments()
	s.mu.Lock()
	before := s.moments
	s.moments = now
	s.mu.Unlock()
	if before == nil {
		return
	}
	moved, polled := map[string]bool{}, map[string]bool{}
	var scopes []identity.Scope
	for id, m := range now {
		was := before[id]
		switch {
		case was.Freshness != m.Freshness || was.Tunnel != m.Tunnel:
			moved[id], scopes = true, append(scopes, m.Scope)
		case was.PolledAt != m.PolledAt && !polls:
			// The next comparison that tells of polls must see it.
			m.PolledAt = was.PolledAt
			now[id] = m
		case was.PolledAt != m.PolledAt:
			polled[id] = true
		}
	}
	if len(moved)+len(polled) == 0 {
		return
	}
	if len(moved) > 0 {
		s.note(index.Change{Hints: momentHints, Scopes: scopes})
	}
	about := maps.Clone(moved)
	maps.Copy(about, polled)
	for _, one := range streams {
		one.on(about, moved, scopes)
	}
}

// momentHints are the hints of clusters that became Fresh or Stale, or whose tunnels changed.
var momentHints = []string{"fleet", "clusters", "services"}

// on marks what a stream watches of some clusters. The time of a poll is no change of a
// row of a list.
func (s *Stream) on(clusters, moved map[string]bool, scopes []identity.Scope) {
	s.mu.Lock()
	services := make([]string, 0, len(s.services))
	for id := range s.services {
		services = append(services, id)
	}
	s.mu.Unlock()
	var change index.Change
	for service, cluster := range s.of.config.Index.ClustersOf(services) {
		if clusters[cluster] {
			change.Services = append(change.Services, service)
		}
	}
	for id := range clusters {
		change.Clusters = append(change.Clusters, id)
	}
	if len(moved) > 0 {
		change.Hints, change.Scopes = momentHints, scopes
	}
	s.take(change)
	s.followMoved(moved)
}
