package fleet

import "context"

// readBatch is how many services one transaction changes when it reads them
// with their specs.
const readBatch = 500

// Head is what a source points at, as the git cache reports it.
type Head struct {
	SourceID string
	Content
	// Error says why the source in its current state cannot be used; the
	// content is then the last good one.
	Error   string
	ErrorAt int64
	// FetchedAt is when the content was fetched.
	FetchedAt int64
}

// Revise moves a service to its heads and reports whether that makes a
// revision, which follow.Follower stores. A service with several sources waits
// until each has content, and keeps all its content while one of them fails. A
// service whose outputs are missing, or whose dependencies are not ready, waits too.
func (f *revisions) Revise(ctx context.Context, s *StoredService, cluster Cluster, heads map[string]Head) (Revised, bool, error) {
	now := presentOf(s.Follows(), heads)
	waits, err := f.waits(ctx, *s)
	if err != nil {
		return Revised{}, false, err
	}
	settled := s.Revision > 0 && !s.Undelivered
	switch {
	case now.missing >= 0, waits,
		settled && now.failing && len(now.parts) > 1,
		settled && sameFiles(now.parts, s.contents()):
		return Revised{}, false, nil
	}
	cause := CauseCommit
	switch {
	case s.Revision == 0:
		cause = CauseCreate
	case s.Undelivered:
		cause = CauseUpdate
	}
	s.take(now.parts)
	s.Revision++
	err = f.settle(s, s.Spec, s.Secrets, cluster)
	return Revised{
		ServiceID: s.ID, OwnerID: s.OwnerID, SpecDigest: s.SpecDigest, Namespace: s.Namespace, Cause: cause,
		Made: Made{Content: s.Desired, Parts: s.Parts},
	}, true, err
}

// ClustersOf returns the clusters of services, by id.
func (f *revisions) ClustersOf(ctx context.Context, services []StoredService) (map[string]Cluster, error) {
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
