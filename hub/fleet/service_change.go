package fleet

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/binding"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/partial"
)

// errDryRun rolls back a transaction whose result was only requested.
var errDryRun = errors.New("dry run")

func appendService(ctx context.Context, s Service) error {
	return event.Append(ctx, event.Change{Kind: event.KindService, Key: s.ID, Cluster: s.ClusterID})
}

// recordService appends the change of a service and its event.
func recordService(ctx context.Context, s Service, kind, by, message string) error {
	if err := appendService(ctx, s); err != nil {
		return err
	}
	return event.Record(ctx, event.Entry{
		Kind: kind, Object: "service " + s.Ref().String(), By: by, Message: event.Noted(ctx, message), Cluster: s.ClusterID, Service: s.ID,
	})
}

// serviceFor returns a service by name. Its error says what to do.
func (f *serviceViews) serviceFor(ctx context.Context, ref Ref) (StoredService, error) {
	s, err := f.store.ServiceByRef(ctx, ref)
	if errcode.Is(err, errcode.NotFound) {
		return s, errcode.New(errcode.NotFound, "service %s does not exist; axle services list shows the existing ones", ref)
	}
	return s, err
}

// Exists returns the error for creating a service that exists.
func Exists(ref Ref) error { return errcode.New(errcode.Conflict, "service %s exists already", ref) }

// CreateService declares a service. Invalid with the field's path, NotFound
// (cluster, repository), Conflict when it exists.
func (f *Fleet) CreateService(ctx context.Context, by string, r ServiceRequest) (ServiceView, error) {
	return f.write(ctx, r.DryRun, func(ctx context.Context) (StoredService, error) {
		_, err := f.store.ServiceByRef(ctx, r.Ref)
		if err == nil {
			return StoredService{}, Exists(r.Ref)
		}
		if !errcode.Is(err, errcode.NotFound) {
			return StoredService{}, err
		}
		return f.create(ctx, by, r)
	})
}

// UpdateService replaces a service's spec, or only the fields named by JSON
// paths ("git.ref"); the zero spec takes the service over as it is. While a rollback pins the service, the new spec takes
// effect only when it is resumed.
func (f *Fleet) UpdateService(ctx context.Context, by string, ref Ref, spec Spec, fields []string, dryRun bool) (ServiceView, error) {
	return f.write(ctx, dryRun, func(ctx context.Context) (StoredService, error) {
		before, err := f.serviceFor(ctx, ref)
		if err != nil {
			return StoredService{}, err
		}
		merged, err := MergeSpec(before.Spec, spec, fields)
		if managed.CallerOf(ctx).TakeOver && len(fields) == 0 && reflect.DeepEqual(spec, Spec{}) {
			merged = before.Spec
		}
		if err != nil {
			return StoredService{}, err
		}
		s, _, err := f.update(ctx, by, before, ServiceRequest{Ref: ref, Spec: merged, ParentID: before.ParentID})
		return s, err
	})
}

// ApplyService creates or updates a service by its name.
func (f *Fleet) ApplyService(ctx context.Context, by string, r ServiceRequest) (ServiceView, Outcome, error) {
	var outcome Outcome
	view, err := f.write(ctx, r.DryRun, func(ctx context.Context) (StoredService, error) {
		before, err := f.store.ServiceByRef(ctx, r.Ref)
		if errcode.Is(err, errcode.NotFound) {
			outcome = Created
			return f.create(ctx, by, r)
		}
		if err != nil {
			return StoredService{}, err
		}
		s, changed, err := f.update(ctx, by, before, r)
		if outcome = Unchanged; changed {
			outcome = Updated
		}
		return s, err
	})
	return view, outcome, err
}

// write runs change in a transaction and returns the resulting service; a dry
// run is then rolled back.
func (f *Fleet) write(ctx context.Context, dryRun bool, change func(ctx context.Context) (StoredService, error)) (ServiceView, error) {
	var view ServiceView
	err := f.staged(ctx, &staging{dryRun: dryRun}, func(ctx context.Context) error {
		s, err := change(ctx)
		if err != nil {
			return err
		}
		views, err := f.views(ctx, []Service{s.Service})
		if err != nil {
			return err
		}
		if view = views[0]; dryRun {
			return errDryRun
		}
		return nil
	})
	if err != nil && !(dryRun && errors.Is(err, errDryRun)) {
		return ServiceView{}, err
	}
	return view, nil
}

func (f *Fleet) create(ctx context.Context, by string, r ServiceRequest) (StoredService, error) {
	if err := CheckFree(r.Ref.Name); err != nil {
		return StoredService{}, err
	}
	cluster, err := f.clusterFor(ctx, r.Ref.Cluster)
	if err != nil {
		return StoredService{}, err
	}
	s := StoredService{Service: Service{
		// The prefix has a dash because the id is part of names of Kubernetes
		// objects.
		ID: identity.NewID("svc-"), ClusterID: cluster.ID, Cluster: cluster.Name, Name: r.Ref.Name,
		ProjectID: cluster.ProjectID, Project: cluster.Project, Spec: r.Spec, ParentID: r.ParentID,
		DeclaredBy: by, ManagedBy: managed.Created(ctx), CreatedAt: f.now(), UpdatedAt: f.now(),
	}}
	if err := f.declare(ctx, &s, Service{}, r, cluster); err != nil {
		return StoredService{}, err
	}
	// A transaction that changes or deletes the cluster reads its services.
	if err := event.DependsOn(ctx, event.Change{Kind: event.KindCluster, Key: cluster.ID}); err != nil {
		return StoredService{}, err
	}
	now, err := f.presentContent(ctx, s.Service)
	if err != nil {
		return StoredService{}, err
	}
	waits, err := f.waits(ctx, s)
	if err != nil {
		return StoredService{}, err
	}
	if now.missing < 0 && !waits {
		s.take(now.parts)
	}
	if err := f.settle(&s, s.Spec, s.Secrets, cluster); err != nil {
		return StoredService{}, err
	}
	if s.Desired.Digest != "" {
		if err := f.addRevision(ctx, &s, s.Spec, s.Secrets, CauseCreate, by); err != nil {
			return StoredService{}, err
		}
	}
	if err := f.store.InsertService(ctx, s); err != nil {
		return StoredService{}, err
	}
	return s, recordService(ctx, s.Service, "service.created", by, "")
}

// update stores a new declaration and reports whether it differs.
func (f *Fleet) update(ctx context.Context, by string, before StoredService, r ServiceRequest) (StoredService, bool, error) {
	if before.Deleting != "" {
		return before, false, errcode.New(errcode.Conflict, "service %s is being deleted; wait until it is gone", before.Ref())
	}
	if before.Builtin() {
		return before, false, errcode.New(errcode.Conflict, "service %s belongs to the hub itself and cannot be declared by users", before.Ref())
	}
	cluster, err := f.store.ClusterByID(ctx, before.ClusterID)
	if err != nil {
		return before, false, err
	}
	s := before
	s.Spec = r.Spec
	if r.ParentID != "" {
		s.ParentID = r.ParentID
	}
	if err := f.declare(ctx, &s, before.Service, r, cluster); err != nil {
		return before, false, err
	}
	s.ManagedBy, err = managed.Write(ctx, "service "+s.Ref().String(), before.ManagedBy, !reflect.DeepEqual(s, before))
	if err != nil || reflect.DeepEqual(s, before) {
		return before, false, err
	}
	s.UpdatedAt, s.DeclaredBy = f.now(), by
	if s.PinnedRevision == 0 {
		if err := f.redeliver(ctx, &s, before, cluster, CauseUpdate, by); err != nil {
			return before, false, err
		}
	}
	if s.ProjectID != before.ProjectID && (s.PinnedRevision != 0 || s.Undelivered) {
		// A change of project takes effect at once, even when the spec waits.
		if err := f.resettle(ctx, &s, cluster); err != nil {
			return before, false, err
		}
	}
	if err := f.store.UpdateService(ctx, s); err != nil {
		return before, false, err
	}
	kind, message := "service.updated", managed.TookOver(before.ManagedBy, s.ManagedBy)
	switch {
	case message != "":
		kind = "service.taken_over"
	case s.PinnedRevision != 0:
		message = "takes effect when the service is resumed: a rollback pins it"
	case s.Undelivered:
		message = "takes effect when its source has content, its outputs exist and its dependencies are healthy"
	}
	return s, true, recordService(ctx, s.Service, kind, by, message)
}

// redeliver gives the cluster what is declared now: the heads of the sources
// with the declared spec, as a new revision when either differs. While a source
// has no content, or the service waits, the current revision stays. While one of
// several sources fails, all files stay, so that parts of different times are not
// mixed.
func (f *Fleet) redeliver(ctx context.Context, s *StoredService, before StoredService, cluster Cluster, cause Cause, by string) error {
	now, err := f.presentContent(ctx, s.Service)
	if err != nil {
		return err
	}
	waits, err := f.waits(ctx, *s)
	if err != nil {
		return err
	}
	if s.Undelivered = (waits || now.missing >= 0 || len(now.parts) == 0) && s.Revision > 0; s.Undelivered {
		return nil
	}
	samePlaces := slices.Equal(s.Follows(), before.Follows())
	hold := now.failing && len(now.parts) > 1 && samePlaces && before.Revision > 0 && before.PinnedRevision == 0 && !before.Undelivered
	if now.missing < 0 && !waits && !hold && (!samePlaces || !sameFiles(now.parts, s.contents())) {
		s.take(now.parts)
	}
	if err := f.settle(s, s.Spec, s.Secrets, cluster); err != nil {
		return err
	}
	if s.Desired.Digest == "" {
		return nil
	}
	if s.SpecDigest == before.SpecDigest && s.Desired.Digest == before.Desired.Digest {
		// The same files from another commit are not a new revision.
		s.Desired, s.Parts = before.Desired, before.Parts
		return nil
	}
	return f.addRevision(ctx, s, s.Spec, s.Secrets, cause, by)
}

// declare checks s.Spec and fills in what follows from it: project, source,
// configuration.
func (f *Fleet) declare(ctx context.Context, s *StoredService, before Service, r ServiceRequest, cluster Cluster) error {
	spec, err := partial.Normal(s.Spec)
	if err != nil {
		return err
	}
	s.Spec = spec
	if err := specrules.Validate(s.Name, s.Spec); err != nil {
		return err
	}
	if err := f.revisions.dependencies.Check(ctx, cluster, s.Name, s.Spec); err != nil {
		return err
	}
	if err := checkParent(ctx, f.store, s.ParentID, before.ParentID); err != nil {
		return err
	}
	if err := f.enter(ctx, s, before, r.Project); err != nil {
		return err
	}
	if err := f.takeConfiguration(ctx, s, before); err != nil {
		return err
	}
	had := before.Bound()
	if s.ProjectID != before.ProjectID {
		had = Bound{} // in another project, nothing is bound yet
	}
	repositories, err := binding.Bind(ctx, f.sources, s.Spec, s.ProjectID, had, r.ours)
	if err != nil {
		return err
	}
	return Templates{f}.FollowSources(ctx, &s.Service, repositories)
}

// checkParent refuses a new parent that is not a service: the parent "hub"
// marks the hub's own services.
func checkParent(ctx context.Context, services ServiceReader, id, before string) error {
	if id == "" || id == before {
		return nil
	}
	_, err := services.ServiceByID(ctx, id)
	if errcode.Is(err, errcode.NotFound) {
		return NoParent(id)
	}
	return err
}

// NoParent returns the error for a parent that does not exist. A caller who may
// not see an existing parent gets the same error.
func NoParent(id string) error {
	return specrules.Field("parentId", "no service has the id %.80s", id)
}

// enter puts a service into the named project, or leaves it in its own, and
// checks that its declaration is allowed there.
func (f *Fleet) enter(ctx context.Context, s *StoredService, before Service, project string) error {
	if project != "" {
		p, err := f.store.ProjectByName(ctx, project, false)
		if err != nil {
			return err
		}
		s.ProjectID = p.ID
	}
	p, err := f.project(ctx, s.ProjectID)
	if err != nil {
		return err
	}
	if err := p.admits(s.Name, s.Spec, before); err != nil {
		return err
	}
	if s.Project = p.Name; s.ProjectID == before.ProjectID {
		return nil
	}
	room, err := Templates{f}.RoomForServices(ctx, p)
	if err == nil {
		err = p.FullOfServices(room)
	}
	if err != nil {
		return err
	}
	s.Limits = p.Delivered
	return joined(ctx, p.ID)
}

// presentContent returns the current heads of a service's sources, for a
// transaction after which the service follows them. HeadMoved does not know the
// service before that, so a head that moves meanwhile makes the transaction retry.
func (f *Fleet) presentContent(ctx context.Context, s Service) (present, error) {
	places := s.Follows()
	if len(places) == 0 {
		return presentOf(nil, nil), nil
	}
	ids := sourceIDs(places)
	for _, id := range ids {
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindHead, Key: id}); err != nil {
			return present{}, err
		}
	}
	heads, err := f.sources.Heads(ctx, ids)
	return presentOf(places, heads), err
}

func sourceIDs(places []Place) []string {
	ids := make([]string, len(places))
	for i, p := range places {
		ids[i] = p.SourceID
	}
	return ids
}
