package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/pagetoken"
)

const (
	// standardPage and maxPage are the default and the largest page of services.
	standardPage = 100
	maxPage      = 500
)

// Reasons that the hub gives, in addition to those of agents.
const (
	ReasonSourceError = "SourceError"
	ReasonNoAgent     = "NoAgent"
	ReasonDeleting    = "Deleting"
	ReasonOldAgent    = "AgentTooOld"
	ReasonNoOutputs   = "WaitingForOutputs"
	ReasonStopping    = "Stopping"   // is paused, and its agent may not know yet
	ReasonDependency  = "Dependency" // agents give it too
)

// serviceViews show services as they are now.
type serviceViews struct {
	times
	store        Store
	sources      Sources
	live         *Memory
	dependencies Dependencies
}

// Service returns a service with its components.
func (f *serviceViews) Service(ctx context.Context, ref Ref) (ServiceView, error) {
	s, err := f.serviceFor(ctx, ref)
	if err != nil {
		return ServiceView{}, err
	}
	return f.whole(ctx, s.Service)
}

// ServiceByID is Service by id.
func (f *serviceViews) ServiceByID(ctx context.Context, id string) (ServiceView, error) {
	s, err := f.store.ServiceByID(ctx, id)
	if err != nil {
		return ServiceView{}, err
	}
	return f.whole(ctx, s.Service)
}

func (f *serviceViews) whole(ctx context.Context, s Service) (ServiceView, error) {
	views, err := f.views(ctx, []Service{s})
	if err != nil {
		return ServiceView{}, err
	}
	views[0].Status.Components, err = f.store.Components(ctx, s.ID)
	return views[0], err
}

// Services returns a page of services, without components.
func (f *serviceViews) Services(ctx context.Context, filter ServiceFilter) (ServicePage, error) {
	cluster, name, err := pagetoken.Parse(filter.PageToken)
	if err := cmp.Or(err, managed.Filter(filter.ManagedBy)); err != nil {
		return ServicePage{}, err
	}
	limit := min(cmp.Or(max(filter.PageSize, 0), standardPage), maxPage)
	services, err := f.store.ListServices(ctx, filter, Ref{cluster, name}, limit+1)
	if err != nil {
		return ServicePage{}, err
	}
	var page ServicePage
	if len(services) > limit {
		services = services[:limit]
		page.NextPageToken = pagetoken.Of(services[limit-1].Cluster, services[limit-1].Name)
	}
	page.Services, err = f.views(ctx, services)
	return page, err
}

// ServicesByID returns those of the services that exist, by id, without components.
func (f *serviceViews) ServicesByID(ctx context.Context, ids []string) (map[string]ServiceView, error) {
	stored, err := f.store.ServicesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	services := make([]Service, len(stored))
	for i, s := range stored {
		services[i] = s.Service
	}
	views, err := f.views(ctx, services)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]ServiceView, len(views))
	for _, v := range views {
		byID[v.ID] = v
	}
	return byID, nil
}

// views adds the current state to services.
func (f *serviceViews) views(ctx context.Context, services []Service) ([]ServiceView, error) {
	var ids, sources, repositories, clusterIDs []string
	seen := map[string]bool{}
	for _, s := range services {
		ids = append(ids, s.ID)
		for _, p := range s.Follows() {
			if !seen[p.SourceID] {
				seen[p.SourceID] = true
				sources = append(sources, p.SourceID)
			}
			if !seen[p.RepositoryID] {
				seen[p.RepositoryID] = true
				repositories = append(repositories, p.RepositoryID)
			}
		}
		if !seen[s.ClusterID] {
			seen[s.ClusterID] = true
			clusterIDs = append(clusterIDs, s.ClusterID)
		}
	}
	statuses, err := f.store.StatusesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var known upstreams
	if len(sources) > 0 {
		if known.heads, err = f.sources.Heads(ctx, sources); err != nil {
			return nil, err
		}
		if known.repositories, err = f.sources.Upstreams(ctx, repositories); err != nil {
			return nil, err
		}
	}
	clusters, err := f.store.ClustersByID(ctx, clusterIDs)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Cluster, len(clusters))
	for _, c := range clusters {
		byID[c.ID] = c
	}
	waiting, err := f.waiting(ctx, services)
	if err != nil {
		return nil, err
	}
	views := make([]ServiceView, len(services))
	for i, s := range services {
		views[i] = f.view(s, byID[s.ClusterID], statuses[s.ID], known)
		if names := waiting[s.ID]; len(names) > 0 {
			views[i].wait(names)
		} else if err := f.depend(ctx, &views[i], known.heads); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// waiting returns the missing outputs of services that wait for them.
func (f *serviceViews) waiting(ctx context.Context, services []Service) (map[string][]string, error) {
	var ids []string
	for _, s := range services {
		if len(s.Spec.Imports) > 0 && (s.Undelivered || s.Revision == 0) && s.PinnedRevision == 0 && s.Deleting == "" && !s.Paused {
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := f.store.ServicesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	waiting := make(map[string][]string, len(stored))
	for _, s := range stored {
		if waiting[s.ID], err = waitsFor(s); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// wait shows that a service waits for outputs. A source that cannot be used is
// shown first.
func (v *ServiceView) wait(outputs []string) {
	if v.Sync == Failed && v.Reason == ReasonSourceError {
		return
	}
	v.Sync, v.Reason = Pending, ReasonNoOutputs
	v.Message = fmt.Sprintf("waits for the outputs %s, which services of project %s do not have yet; axle outputs put creates them", strings.Join(outputs, ", "), v.Project)
}

// depend shows that a service waits for services on other clusters.
func (f *serviceViews) depend(ctx context.Context, v *ServiceView, heads map[string]Head) error {
	elsewhere := slices.ContainsFunc(v.Spec.Dependencies, func(d specv1.Dependency) bool { return d.Cluster != "" })
	if !elsewhere || v.PinnedRevision != 0 || v.Deleting != "" || v.Paused || v.Reason == ReasonSourceError {
		return nil
	}
	if now := presentOf(v.Follows(), heads); now.missing >= 0 || v.Revision > 0 && !v.Undelivered && sameFiles(now.parts, v.contents()) {
		return nil // it has all that it could get
	}
	why, err := f.dependencies.Waits(ctx, v.Service, false)
	if why != "" {
		v.Sync, v.Reason, v.Message = Pending, ReasonDependency, why
	}
	return err
}

func (f *serviceViews) view(s Service, c Cluster, status StoredStatus, known upstreams) ServiceView {
	v := ServiceView{Service: s, Status: status.Status, ReportedAt: status.ReportedAt, Freshness: Unknown, NotActing: notActing(s)}
	if v.Status.Health == "" {
		v.Status.Health = HealthUnknown
	}
	if c.Registered() {
		f.live.Polls.SetInterval(c.ID, c.PollInterval)
		v.Freshness, v.PolledAt = f.live.Freshness(c.ID)
	}
	v.Sync, v.Reason, v.Message = effective(s, c, status)
	f.viewSources(&v, c, status, known)
	return v
}

// effective returns the state of the service relative to what is desired now. A
// failure or a hold that the agent reported stands, since it is about what the
// agent last got; Synced stands only while the same content is still desired.
func effective(s Service, c Cluster, status StoredStatus) (Sync, string, string) {
	paused, silent := s.Paused && s.Deleting == "", status.Sync == ""
	settled := status.Sync == Synced || status.Sync == Drifted || status.Sync == Paused
	switch {
	case paused && c.Registered() && s.Desired.Digest != "" && status.Sync != Paused && status.Sync != Held:
		return Paused, ReasonStopping, "paused, but its agent has not reported that it stopped; until then it applies and heals"
	case paused:
		return Paused, "", "paused; resume it to continue"
	case silent && !c.Registered():
		return Pending, ReasonNoAgent, "no agent has registered for cluster " + s.Cluster + " yet"
	case (silent || settled) && s.Deleting != "":
		return Pending, ReasonDeleting, "waits for the agent to remove it"
	case silent && s.Desired.Digest == "":
		return Pending, "", "the source has no content yet"
	case silent:
		return Pending, "", "the agent has not reported on it yet"
	case settled && (status.Status.Sync == Paused || status.TarballDigest != s.Desired.Digest || status.SpecDigest != s.SpecDigest):
		return Pending, "", "the agent has not taken revision " + short(s.Desired.SourceRevision) + " yet"
	}
	return status.Sync, status.Reason, status.Message
}
