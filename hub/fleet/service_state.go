package fleet

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// change applies a change to a service that is not being deleted, or approves a
// prune. fn reports whether it changed anything, and sets the message of the event.
func (f *Fleet) change(ctx context.Context, by string, ref Ref, kind string, fn func(ctx context.Context, s *StoredService, cluster Cluster) (changed bool, message string, err error)) (ServiceView, error) {
	return f.write(ctx, false, func(ctx context.Context) (StoredService, error) {
		s, err := f.serviceFor(ctx, ref)
		if err != nil {
			return s, err
		}
		if s.Deleting != "" && (s.Deleting != Drain || kind != "service.prune_approved") {
			return s, errcode.New(errcode.Conflict, "service %s is being deleted", ref)
		}
		cluster, err := f.store.ClusterByID(ctx, s.ClusterID)
		if err != nil {
			return s, err
		}
		changed, message, err := fn(ctx, &s, cluster)
		if err != nil || !changed {
			return s, err
		}
		s.UpdatedAt = f.now()
		if err := f.store.UpdateService(ctx, s); err != nil {
			return s, err
		}
		return s, recordService(ctx, s.Service, kind, by, message)
	})
}

// resettle computes the spec digest after a counter changed.
func (f *revisions) resettle(ctx context.Context, s *StoredService, cluster Cluster) error {
	spec, sealed, err := f.delivered(ctx, *s)
	if err != nil {
		return err
	}
	return f.settle(s, spec, sealed, cluster)
}

// SyncService asks the agent for a pass now, limited to the given objects where
// resources names some. Conflict when the service is paused and resources is
// empty.
func (f *Fleet) SyncService(ctx context.Context, by string, ref Ref, resources ...string) (ServiceView, error) {
	if err := specrules.CheckResources(resources); err != nil {
		return ServiceView{}, err
	}
	return f.change(ctx, by, ref, "service.sync_requested", func(ctx context.Context, s *StoredService, c Cluster) (bool, string, error) {
		if s.Paused && len(resources) == 0 {
			return false, "", errcode.New(errcode.Conflict, "service %s is paused; resume it first, or name single objects", ref)
		}
		s.SyncRequest++
		s.SyncResources = resources
		return true, strings.Join(resources, ", "), f.resettle(ctx, s, c)
	})
}

// ApprovePrune approves a held prune once, or a deletion that waits for other
// services.
func (f *Fleet) ApprovePrune(ctx context.Context, by string, ref Ref) (ServiceView, error) {
	return f.change(ctx, by, ref, "service.prune_approved", func(ctx context.Context, s *StoredService, c Cluster) (bool, string, error) {
		if s.PruneApproval++; s.Deleting != "" {
			s.Deleting = DrainReleased
		}
		return true, string(s.Deleting), f.resettle(ctx, s, c)
	})
}

// PauseService pauses the service until it is resumed.
func (f *Fleet) PauseService(ctx context.Context, by string, ref Ref) (ServiceView, error) {
	return f.change(ctx, by, ref, "service.paused", func(_ context.Context, s *StoredService, _ Cluster) (bool, string, error) {
		changed := !s.Paused
		s.Paused = true
		return changed, "", nil
	})
}

// ResumeService ends a pause and a pin; the service follows its head again.
func (f *Fleet) ResumeService(ctx context.Context, by string, ref Ref) (ServiceView, error) {
	return f.change(ctx, by, ref, "service.resumed", func(ctx context.Context, s *StoredService, c Cluster) (bool, string, error) {
		if !s.Paused && s.PinnedRevision == 0 {
			return false, "", nil
		}
		s.Paused = false
		if s.PinnedRevision == 0 {
			return true, "", nil
		}
		before := *s
		s.PinnedRevision = 0
		return true, "follows its source again", f.redeliver(ctx, s, before, c, CauseUpdate, by)
	})
}

// RollbackService goes back to a revision and pins the service to it; 0 is the
// previous revision. NotFound; Conflict when it is already at that revision.
func (f *Fleet) RollbackService(ctx context.Context, by string, ref Ref, number int64) (ServiceView, error) {
	return f.change(ctx, by, ref, "service.rolled_back", func(ctx context.Context, s *StoredService, c Cluster) (bool, string, error) {
		if s.Builtin() {
			return false, "", errcode.New(errcode.Conflict, "service %s belongs to the hub itself; use axle agents abort to go back", ref)
		}
		target, err := f.rollbackTarget(ctx, s.Service, number)
		if err != nil || target.Number == s.PinnedRevision {
			return false, "", err
		}
		if err := f.admitsRevision(ctx, s.Service, target.Spec); err != nil {
			return false, "", err
		}
		message := fmt.Sprintf("pinned to revision %d (%s) until it is resumed", target.Number, short(target.SourceRevision))
		s.Desired, s.Parts, s.PinnedRevision = target.Content, target.Parts, target.Number
		if err := f.settle(s, target.Spec, target.Secrets, c); err != nil {
			return false, "", err
		}
		if s.OwnerID != "" {
			s.Revision, s.RevisedAt = target.Number, f.now()
			return true, message, nil
		}
		return true, message, f.addRevision(ctx, s, target.Spec, target.Secrets, CauseRollback, by)
	})
}

// rollbackTarget finds the revision to go back to.
func (f *Fleet) rollbackTarget(ctx context.Context, s Service, number int64) (StoredRevision, error) {
	present := s.Revision
	if s.PinnedRevision != 0 {
		present = s.PinnedRevision
	}
	if number == 0 {
		revisions, err := f.store.Revisions(ctx, s.ID)
		if err != nil {
			return StoredRevision{}, err
		}
		for _, r := range revisions {
			if r.Number < present {
				number = r.Number
				break
			}
		}
		if number == 0 {
			return StoredRevision{}, errcode.New(errcode.Conflict, "service %s has no revision before %d", s.Ref(), present)
		}
	}
	if number == s.Revision && s.PinnedRevision == 0 {
		return StoredRevision{}, errcode.New(errcode.Conflict, "service %s is at revision %d already", s.Ref(), number)
	}
	r, err := f.store.Revision(ctx, s.ID, number)
	if errcode.Is(err, errcode.NotFound) {
		return r, errcode.New(errcode.NotFound, "service %s has no revision %d; axle services revisions shows the last %d", s.Ref(), number, KeptRevisions)
	}
	return r, err
}

// short shortens a commit for people.
func short(revision string) string { return revision[:min(len(revision), 12)] }

// Title describes content for people: the commit and its message.
func (c Content) Title() string { return short(c.SourceRevision) + " " + c.Message }

// DeleteService turns the service into a tombstone, or removes it at once when no
// agent ever registered for its cluster. Conflict when it is protected, or when it would
// wait for itself. A repeated call with detach detaches what is left; without detach it changes nothing.
func (f *Fleet) DeleteService(ctx context.Context, by string, ref Ref, detach bool) (ServiceView, error) {
	return f.write(ctx, false, func(ctx context.Context) (StoredService, error) {
		s, err := f.serviceFor(ctx, ref)
		if err != nil || s.Deleting == Detach || s.Deleting != "" && !detach {
			return s, err
		}
		if s.Builtin() {
			return s, errcode.New(errcode.Conflict, "service %s is protected: it belongs to the hub itself", ref)
		}
		if s.Spec.Protect && s.Deleting == "" {
			return s, errcode.New(errcode.Conflict, "service %s is protected; set protect to false first", ref)
		}
		cluster, err := f.store.ClusterByID(ctx, s.ClusterID)
		if err != nil {
			return s, err
		}
		if s.ManagedBy, err = managed.Write(ctx, "service "+ref.String(), s.ManagedBy, true); err != nil {
			return s, err
		}
		s.Deleting, s.TombstoneID, s.UpdatedAt = Drain, cmp.Or(s.TombstoneID, identity.NewID("tmb_")), f.now()
		if detach || s.Spec.Detach {
			s.Deleting = Detach
		}
		if !cluster.Registered() {
			return s, forgetService(ctx, f.store, s.Service, by, "no agent ever registered for the cluster")
		}
		if s.Deleting == Drain {
			if err := f.CheckLeaves(ctx, s.Service, cluster); err != nil {
				return s, err
			}
		}
		if err := f.store.UpdateService(ctx, s); err != nil {
			return s, err
		}
		return s, recordService(ctx, s.Service, "service.deleting", by, string(s.Deleting))
	})
}

// forgetService removes the rows of a service.
func forgetService(ctx context.Context, store ServiceStore, s Service, by, message string) error {
	if err := store.DeleteService(ctx, s.ID); err != nil {
		return err
	}
	return recordService(ctx, s, "service.deleted", by, message)
}
