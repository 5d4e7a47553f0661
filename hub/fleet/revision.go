package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
)

// KeptRevisions is how many revisions a service keeps for rollbacks.
const KeptRevisions = 20

// revisions are what services are delivered as.
type revisions struct {
	times
	store        Store
	moves        MoveStore
	writer       Writer
	values       *valueReader
	dependencies Dependencies
}

// delivered returns the spec and the sealed secrets that the cluster gets:
// those of the current revision, or the declared ones while there is none. The
// two differ while a rollback pins the service, and while the declared spec
// waits for a source without content.
func (f *revisions) delivered(ctx context.Context, s StoredService) (Spec, string, error) {
	if s.Revision == 0 {
		return s.Spec, s.Secrets, nil
	}
	r, err := f.store.Revision(ctx, s.ID, s.Revision)
	if err != nil {
		return Spec{}, "", err
	}
	return r.Spec, r.Secrets, nil
}

// settle updates the derived columns: namespace and spec digest.
func (f *revisions) settle(s *StoredService, spec Spec, sealed string, cluster Cluster) error {
	s.Namespace = spec.Namespace
	if s.Namespace == "" {
		s.Namespace = s.Name
	}
	values, err := parseVersion(sealed)
	if err != nil {
		return err
	}
	secrets, err := f.values.openSealed(s.ID, values.sealed)
	if err != nil {
		return err
	}
	s.SpecDigest, err = specDigest(f.values.key, specInputs{service: s.Service, spec: spec, secrets: secrets, values: values, cluster: cluster.Data()})
	return err
}

// addRevision makes the current content and spec the service's next revision.
func (f *revisions) addRevision(ctx context.Context, s *StoredService, spec Spec, sealed string, cause Cause, by string) error {
	s.Revision++
	s.RevisedAt = f.now()
	number, err := f.store.InsertRevision(ctx, StoredRevision{
		Revision: Revision{
			ServiceID: s.ID, Number: s.Revision, Content: s.Desired, Parts: s.Parts, SpecDigest: s.SpecDigest,
			Cause: cause, By: by, Reason: event.Reason(ctx), CreatedAt: s.RevisedAt, Spec: spec,
		},
		Secrets: sealed, OwnerID: s.OwnerID,
	}, KeptRevisions)
	s.Revision = number
	return err
}

// redigestCluster computes the spec digests of a cluster's services again,
// after the cluster's data changed. It is one transaction with that change, so
// that digests and data always agree.
func (f *revisions) redigestCluster(ctx context.Context, c Cluster) error {
	if err := dependOnServices(ctx, c); err != nil {
		return err
	}
	services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
	if err != nil {
		return err
	}
	return f.resettleAll(ctx, services, map[string]Cluster{c.ID: c})
}

// dependOnServices makes the transaction retry when a service was added to the
// cluster after its snapshot.
func dependOnServices(ctx context.Context, c Cluster) error {
	return event.DependsOn(ctx, event.Change{Kind: event.KindService, Cluster: c.ID})
}

// Revisions returns the kept revisions, newest first.
func (f *Fleet) Revisions(ctx context.Context, ref Ref) ([]Revision, error) {
	s, err := f.serviceFor(ctx, ref)
	if err != nil {
		return nil, err
	}
	revisions, err := f.store.Revisions(ctx, s.ID)
	for i := range revisions {
		revisions[i].Current = revisions[i].Number == s.Revision
	}
	return revisions, err
}
