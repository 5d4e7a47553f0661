package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
)

// KeptRevisions is how many a service keeps to go back to.
const KeptRevisions = 20

// delivered returns the spec and the sealed secrets that the cluster gets: of
// the present revision, or what is declared while there is none. The two
// differ while a rollback pins the service, and while what is declared waits
// for a source that was not produced yet.
func (f *Fleet) delivered(ctx context.Context, s StoredService) (Spec, string, error) {
	if s.Revision == 0 {
		return s.Spec, s.Secrets, nil
	}
	r, err := f.store.Revision(ctx, s.ID, s.Revision)
	if err != nil {
		return Spec{}, "", err
	}
	return r.Spec, r.Secrets, nil
}

// settle brings the columns that follow from others up to date: namespace and
// spec digest.
func (f *Fleet) settle(s *StoredService, spec Spec, sealed string, cluster Cluster) error {
	s.Namespace = spec.Namespace
	if s.Namespace == "" {
		s.Namespace = s.Name
	}
	values, err := parseVersion(sealed)
	if err != nil {
		return err
	}
	secrets, err := f.openSealed(s.ID, values.sealed)
	if err != nil {
		return err
	}
	s.SpecDigest, err = specDigest(f.key, specInputs{service: s.Service, spec: spec, secrets: secrets, values: values, cluster: cluster.data()})
	return err
}

// addRevision makes the present content and spec the service's next revision.
func (f *Fleet) addRevision(ctx context.Context, s *StoredService, spec Spec, sealed string, cause Cause, by string) error {
	s.Revision++
	s.RevisedAt = f.now()
	return f.store.InsertRevision(ctx, StoredRevision{
		Revision: Revision{
			ServiceID: s.ID, Number: s.Revision, Content: s.Desired, Parts: s.Parts, SpecDigest: s.SpecDigest,
			Cause: cause, By: by, CreatedAt: s.RevisedAt, Spec: spec,
		},
		Secrets: sealed,
	}, KeptRevisions)
}

// redigestCluster computes the spec digests of a cluster's services anew,
// after the cluster's data changed. It is one transaction with that change, so
// that no digest goes with other data.
func (f *Fleet) redigestCluster(ctx context.Context, c Cluster) error {
	if err := relyOnServices(ctx, c); err != nil {
		return err
	}
	services, err := f.store.ServicesOfCluster(ctx, c.ID, nil)
	if err != nil {
		return err
	}
	return f.resettleAll(ctx, services, map[string]Cluster{c.ID: c})
}

// relyOnServices makes the transaction run again when a service came to the
// cluster after its view began.
func relyOnServices(ctx context.Context, c Cluster) error {
	return event.Rely(ctx, event.Change{Kind: event.KindService, Cluster: c.ID})
}

// Revisions returns those that are kept, newest first.
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
