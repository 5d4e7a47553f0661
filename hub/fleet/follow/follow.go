// Package follow moves services to the heads of their sources: it turns an
// upstream change into revisions of many services with few statements.
// hub/fleet decides which services change, and what of them; the hub's heads
// loop calls it under a lease.
//
// Invariants:
//   - A moved head stays in the database until all its services were updated,
//     so a killed process loses nothing.
//   - A commit costs about twenty statements per thousand services that it
//     moves, and one change in the feed where they follow one source.
//   - A service never moves to an older head: heads are read in the transaction
//     that uses them.
package follow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/clock"
)

const (
	// headBatch is how many services one transaction revises: a repository with
	// a thousand services must not hold the writer for long.
	headBatch = 1000
	// sourceBatch is how many sources are handled together.
	sourceBatch = 500
	// readBatch is headBatch for services that are read with their specs.
	readBatch = 500
	// eachTold is the largest number of services in a transaction for which
	// each service gets its own event.
	eachTold = 20
)

// Follower moves services to heads. All fields are required.
type Follower struct {
	Fleet   *fleet.Fleet
	Moves   fleet.MoveStore
	Writer  fleet.Writer
	Sources fleet.Sources
	Clock   clock.Clock
}

// HeadMoved gives every service that follows the source a revision with the
// content of its heads. This turns an upstream change into a change of
// services. Services that already have the content, are pinned by a rollback,
// or are being deleted are not touched.
func (f *Follower) HeadMoved(ctx context.Context, sourceID string) error {
	return f.follow(ctx, []string{sourceID})
}

// FollowHeads calls HeadMoved, in batches, for all sources that moved and whose
// services were not updated yet, including those that a killed process left. A
// failing source does not stop the others.
func (f *Follower) FollowHeads(ctx context.Context) error {
	var failed []error
	for after := ""; ; {
		ids, err := f.Sources.Moved(ctx, after, sourceBatch)
		if err != nil || len(ids) == 0 {
			return errors.Join(append(failed, err)...)
		}
		after = ids[len(ids)-1]
		if f.follow(ctx, ids) == nil {
			continue
		}
		for _, id := range ids {
			failed = append(failed, f.follow(ctx, []string{id}))
		}
	}
}

// follow moves the services of some sources to their heads. For most services
// only the content changes: these are moved without being read. The others are
// examined one by one and written together. All heads of a service are read
// inside the transaction, so a late caller never moves services back to an
// older head, and several sources that moved at once make one revision.
func (f *Follower) follow(ctx context.Context, sourceIDs []string) error {
	for _, batch := range []func(ctx context.Context, sourceIDs []string, after string) (string, error){f.advanceBatch, f.reviseBatch} {
		for after := ""; ; {
			var last string
			err := f.Writer.Write(ctx, func(ctx context.Context) (err error) {
				last, err = batch(ctx, sourceIDs, after)
				return err
			})
			if err != nil {
				return fmt.Errorf("revise the services of source %s: %w", strings.Join(sourceIDs, ", "), err)
			}
			if last == "" {
				break
			}
			after = last
		}
	}
	return nil
}

// produced returns the heads of those sources that have content.
func (f *Follower) produced(ctx context.Context, sourceIDs []string) (map[string]fleet.Head, []fleet.Head, error) {
	heads, err := f.Sources.Heads(ctx, sourceIDs)
	if err != nil {
		return nil, nil, err
	}
	var list []fleet.Head
	for _, id := range sourceIDs {
		if heads[id].Digest != "" {
			list = append(list, heads[id])
		}
	}
	return heads, list, nil
}

// advanceBatch moves the services after an id for which only the content
// changes, and returns the last one that it examined, empty when there are no
// more.
func (f *Follower) advanceBatch(ctx context.Context, sourceIDs []string, after string) (last string, err error) {
	heads, produced, err := f.produced(ctx, sourceIDs)
	if err != nil || len(produced) == 0 {
		return "", err
	}
	services, err := f.Moves.ServicesToAdvance(ctx, produced, after, headBatch)
	if err != nil {
		return "", err
	}
	revised := make([]fleet.Revised, len(services))
	for i, s := range services {
		revised[i] = fleet.Revised{ServiceID: s.ID, OwnerID: s.OwnerID, SpecDigest: s.SpecDigest, Namespace: s.Namespace, Cause: fleet.CauseCommit, Made: fleet.Made{Content: heads[s.SourceID].Content}}
		services[i].Revision++
		services[i].Desired = heads[s.SourceID].Content
	}
	if len(services) == headBatch {
		last = services[headBatch-1].ID
	}
	return last, f.storeRevised(ctx, revised, services, after)
}

// reviseBatch examines the services after an id that are behind their heads,
// and returns the last one, empty when there are no more. After the last batch
// the sources no longer count as moved.
func (f *Follower) reviseBatch(ctx context.Context, sourceIDs []string, after string) (last string, err error) {
	heads, produced, err := f.produced(ctx, sourceIDs)
	if err != nil {
		return "", err
	}
	var services []fleet.StoredService
	if len(produced) > 0 {
		if services, err = f.Moves.ServicesBehind(ctx, produced, after, readBatch); err != nil {
			return "", err
		}
	}
	if err := f.otherHeads(ctx, services, heads); err != nil {
		return "", err
	}
	clusters, err := f.Fleet.ClustersOf(ctx, services)
	if err != nil {
		return "", err
	}
	var revised []fleet.Revised
	var named []fleet.Service
	for _, s := range services {
		cluster, known := clusters[s.ClusterID]
		if !known {
			continue
		}
		r, changed, err := f.Fleet.Revise(ctx, &s, cluster, heads)
		if err != nil {
			return "", err
		}
		if changed {
			revised, named = append(revised, r), append(named, s.Service)
		}
	}
	if err := f.storeRevised(ctx, revised, named, after); err != nil {
		return "", err
	}
	if len(services) == readBatch {
		return services[readBatch-1].ID, nil
	}
	return "", f.Sources.Followed(ctx, sourceIDs)
}

// storeRevised writes the next revisions of services, in order of id after the
// given one, and appends changes and events. A few services get a change and an
// event each. Many services of one source share one change, which makes every
// replica read them again by their source, and one event.
func (f *Follower) storeRevised(ctx context.Context, revised []fleet.Revised, services []fleet.Service, after string) error {
	if len(revised) == 0 {
		return nil
	}
	if err := f.Moves.Revise(ctx, revised, clock.Micros(f.Clock.Now()), fleet.KeptRevisions); err != nil {
		return err
	}
	bySource, repositories := map[string]int{}, map[string]bool{}
	for _, s := range services {
		bySource[s.SourceID]++
		repositories[s.Desired.RepositoryID] = true
	}
	last := services[len(services)-1]
	for _, s := range services {
		var err error
		switch {
		case len(services) <= eachTold:
			err = errors.Join(told(ctx, s), event.Record(ctx, event.Entry{
				Kind: "service.revised", Object: "service " + s.Ref().String(), By: "hub", Cluster: s.ClusterID, Service: s.ID,
				Message: revisionText(s) + s.Desired.Title(),
			}))
		case bySource[s.SourceID] > eachTold:
			// Append each source once, whatever the number of services.
			err = event.Append(ctx, event.Followers(s.SourceID, after, last.ID))
		default:
			err = told(ctx, s)
		}
		if err != nil {
			return err
		}
	}
	if len(services) <= eachTold {
		return nil
	}
	object := fmt.Sprintf("%d repositories", len(repositories))
	if len(repositories) == 1 {
		upstreams, err := f.Sources.Upstreams(ctx, []string{last.Desired.RepositoryID})
		if err != nil {
			return err
		}
		object = "repository " + upstreams[last.Desired.RepositoryID].Name
	}
	message := fmt.Sprintf("%d services: %s", len(services), last.Desired.Title())
	return event.Record(ctx, event.Entry{Kind: "services.revised", Object: object, By: "hub", Message: message})
}

// revisionText begins the message of a revision. The number of a shared one is
// known to the database only.
func revisionText(s fleet.Service) string {
	if s.OwnerID != "" {
		return ""
	}
	return fmt.Sprintf("revision %d: ", s.Revision)
}

func told(ctx context.Context, s fleet.Service) error {
	return event.Append(ctx, event.Change{Kind: event.KindService, Key: s.ID, Cluster: s.ClusterID})
}

// otherHeads adds the heads of the other sources that the services follow.
func (f *Follower) otherHeads(ctx context.Context, services []fleet.StoredService, heads map[string]fleet.Head) error {
	seen := map[string]bool{}
	var ids []string
	for _, s := range services {
		for _, p := range s.Places {
			if _, known := heads[p.SourceID]; !known && !seen[p.SourceID] {
				seen[p.SourceID] = true
				ids = append(ids, p.SourceID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	more, err := f.Sources.Heads(ctx, ids)
	maps.Copy(heads, more)
	return err
}
