package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

// headBatch is how many services one transaction revises: a repository that a
// thousand services follow must not hold the writer for long.
const headBatch = 500

// Head is what a source points at, as the git cache tells it.
type Head struct {
	SourceID string
	Content
	// Error says why the source as it is now cannot be produced; the content
	// is then the last good one.
	Error   string
	ErrorAt int64
	// FetchedAt is when the content was fetched.
	FetchedAt int64
}

// HeadMoved gives every service that follows the source a revision with the
// content of its heads. This is where a change upstream becomes a change of a
// service: those that have the content already, that a rollback pins, or that
// are being deleted are not touched.
//
// All heads of a service are read inside the transaction, so that a caller who
// is late never takes services back to an older one, and several that moved at
// once make one revision.
func (f *Fleet) HeadMoved(ctx context.Context, sourceID string) error {
	after := ""
	for {
		last, err := f.reviseBatch(ctx, sourceID, after)
		if err != nil {
			return fmt.Errorf("revise the services of source %s: %w", sourceID, err)
		}
		if last == "" {
			return nil
		}
		after = last
	}
}

// reviseBatch looks at the services after an id and returns the last that it
// looked at, empty when there are no more.
func (f *Fleet) reviseBatch(ctx context.Context, sourceID, after string) (last string, err error) {
	err = f.writer.Write(ctx, func(ctx context.Context) error {
		last = ""
		heads, err := f.sources.Heads(ctx, []string{sourceID})
		if err != nil {
			return err
		}
		head, ok := heads[sourceID]
		if !ok || head.Digest == "" {
			return nil
		}
		services, err := f.store.ServicesBehind(ctx, head, after, headBatch)
		if err != nil {
			return err
		}
		if err := f.otherHeads(ctx, services, heads); err != nil {
			return err
		}
		clusters, err := f.clustersOf(ctx, services)
		if err != nil {
			return err
		}
		for _, s := range services {
			if cluster, ok := clusters[s.ClusterID]; ok {
				if err := f.revise(ctx, s, cluster, heads); err != nil {
					return err
				}
			}
		}
		if len(services) == headBatch {
			last = services[headBatch-1].ID
		}
		return nil
	})
	return last, err
}

// otherHeads adds the heads of everything else that the services follow.
func (f *Fleet) otherHeads(ctx context.Context, services []StoredService, heads map[string]Head) error {
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
	more, err := f.sources.Heads(ctx, ids)
	maps.Copy(heads, more)
	return err
}

// revise takes a service to its heads. One that is made of several parts waits
// until each was produced, and stays whole as it is while one of them fails.
func (f *Fleet) revise(ctx context.Context, s StoredService, cluster Cluster, heads map[string]Head) error {
	now := presentOf(s.Follows(), heads)
	settled := s.Revision > 0 && !s.Undelivered
	switch {
	case now.missing >= 0,
		settled && now.failing && len(now.parts) > 1,
		settled && sameFiles(now.parts, s.contents()):
		return nil
	}
	what := moved(s.contents(), now.parts)
	cause := CauseCommit
	switch {
	case s.Revision == 0:
		cause = CauseCreate
	case s.Undelivered:
		cause = CauseUpdate
	}
	s.take(now.parts)
	s.Undelivered = false
	if err := f.settle(&s, s.Spec, s.Secrets, cluster); err != nil {
		return err
	}
	if err := f.addRevision(ctx, &s, s.Spec, s.Secrets, cause, "hub"); err != nil {
		return err
	}
	if err := f.store.UpdateService(ctx, s); err != nil {
		return err
	}
	message := fmt.Sprintf("revision %d: %s %s", s.Revision, short(what.SourceRevision), what.Message)
	return recordService(ctx, s.Service, "service.revised", "hub", message)
}

func (f *Fleet) clustersOf(ctx context.Context, services []StoredService) (map[string]Cluster, error) {
	seen := map[string]bool{}
	var ids []string
	for _, s := range services {
		if !seen[s.ClusterID] {
			seen[s.ClusterID] = true
			ids = append(ids, s.ClusterID)
		}
	}
	clusters, err := f.store.ClustersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Cluster, len(clusters))
	for _, c := range clusters {
		byID[c.ID] = c
	}
	return byID, nil
}

// ReconcileHeads does HeadMoved for every source that services follow, and so
// repairs what a killed process left. The lease's holder calls it at its start
// and now and then. One source that fails does not stop the others.
func (f *Fleet) ReconcileHeads(ctx context.Context) error {
	ids, err := f.store.SourceIDs(ctx)
	if err != nil {
		return fmt.Errorf("list the sources of services: %w", err)
	}
	var errs []error
	for start := 0; start < len(ids); start += headBatch {
		part := ids[start:min(start+headBatch, len(ids))]
		heads, err := f.sources.Heads(ctx, part)
		if err != nil {
			return fmt.Errorf("read heads: %w", err)
		}
		for _, id := range part {
			head, ok := heads[id]
			if !ok || head.Digest == "" {
				continue
			}
			behind, err := f.store.ServicesBehind(ctx, head, "", 1)
			if err == nil && len(behind) > 0 {
				err = f.HeadMoved(ctx, id)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
