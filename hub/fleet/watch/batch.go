package watch

import (
	"context"
	"maps"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
)

// Batch is one message of a stream.
type Batch struct {
	Services []string
	Clusters []index.ClusterHit
	Gone     []string
	Hints    []string
	// ServiceList and ClusterList are rows of the lists; Again is set when the reader
	// should read the lists again.
	ServiceList []string
	ClusterList []index.ClusterHit
	Again       bool
	At          event.Position
}

func (b Batch) empty() bool {
	return len(b.Services)+len(b.Clusters)+len(b.Gone)+len(b.Hints)+len(b.ServiceList)+len(b.ClusterList) == 0 && !b.Again
}

// batch takes what was marked. The position is read first: what is marked later is of a
// later position.
func (s *Stream) batch(ctx context.Context) (Batch, error) {
	reach, err := s.reach(ctx)
	if err != nil {
		return Batch{}, err
	}
	b := Batch{At: s.of.config.Feed.Position()}
	s.mu.Lock()
	changed, gone, hinted := s.changed, s.gone, s.hinted
	s.changed, s.gone, s.hinted = map[string]bool{}, map[string]bool{}, hints{}
	var services, clusters []string
	for id := range changed {
		if s.services[id] {
			services = append(services, id)
		} else if s.clusters[id] {
			clusters = append(clusters, id)
		}
	}
	s.mu.Unlock()
	slices.Sort(services)
	slices.Sort(clusters)
	if b.Services, b.Clusters, err = s.of.within(services, clusters, reach); err != nil {
		return Batch{}, err
	}
	for _, id := range b.Services {
		delete(changed, id)
	}
	for _, c := range b.Clusters {
		delete(changed, c.ID)
	}
	maps.Copy(gone, changed)
	b.Gone = slices.Sorted(maps.Keys(gone))
	s.mu.Lock()
	for id := range changed {
		delete(s.services, id)
		delete(s.clusters, id)
	}
	s.mu.Unlock()
	b.Hints = hinted.within(reach)
	err = s.ofLists(&b, reach)
	return b, err
}

// reach asks again what the caller may read.
func (s *Stream) reach(ctx context.Context) (identity.Reach, error) {
	caller, err := s.of.config.Identity.Caller(ctx, s.caller.TokenID)
	if err != nil {
		return identity.Reach{}, err
	}
	return s.of.config.Identity.Reach(ctx, caller, identity.ActionRead)
}
