// Package fleetapi serves the API calls about the whole fleet: lists with facets,
// counts, search and live changes. hub/console authorizes the callers and registers it;
// hub/fleet/index finds what is asked for, and hub/fleet reads the rows of a window.
//
// Invariants: every call asks for the caller's reach and answers only with what is
// within it; no call reads more than 500 rows of a table; Watch asks for the reach again
// before each batch.
package fleetapi

import (
	"context"
	"unicode/utf8"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/hub/console/management"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
)

// maxMessage limits the message of a row, in characters.
const maxMessage = 300

// Fleet reads the rows of a window.
type Fleet interface {
	ServicesByID(ctx context.Context, ids []string) (map[string]fleet.ServiceView, error)
	ClustersByID(ctx context.Context, ids []string, tally func(id string) fleet.Tally) (map[string]fleet.ClusterView, error)
	Orphans(ctx context.Context, reach identity.Reach, limit int) ([]fleet.Orphan, error)
}

// API implements the calls. All fields are required.
type API struct {
	Index *index.Index
	Fleet Fleet
	// Readable returns what the caller may read.
	Readable func(ctx context.Context) (identity.Reach, error)
	// Cluster converts a cluster to the API's form.
	Cluster func(fleet.ClusterView) *hubv1.Cluster
	// Service converts a service without its objects.
	Service func(fleet.ServiceView) *hubv1.Service
	// Position is what this replica's indexes show.
	Position func() event.Position
	Rollouts Rollouts
	Changes  Changes
	Streams  Streams
	Own      Own
	// HubAtRisk returns what lets people who are no administrators take the hub over.
	HubAtRisk func(ctx context.Context) ([]*hubv1.Risk, error)
	// Life returns the present incarnation of the database.
	Life  func(ctx context.Context) (event.Incarnation, error)
	Clock clock.Clock
}

var _ hubv1connect.FleetHandler = (*API)(nil)

// QueryServices implements hubv1connect.FleetHandler.
func (s *API) QueryServices(ctx context.Context, r *connect.Request[hubv1.QueryServicesRequest]) (*connect.Response[hubv1.QueryServicesResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	at := s.Position()
	page, err := s.Index.Services(serviceFilter(r.Msg.GetFilter()), window(r.Msg), reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.QueryServicesResponse{Total: page.Total, Unfiltered: page.Unfiltered, Facets: facets(page.Facets), ResumeToken: at.String()}
	out.Rows, err = s.services(ctx, page.IDs)
	return connect.NewResponse(out), err
}

func serviceFilter(f *hubv1.ServiceFilter) index.ServiceFilter {
	filter := index.ServiceFilter{
		Text: f.GetText(), Cluster: f.GetCluster(), Project: f.GetProject(), Sync: f.GetSync(), Health: f.GetHealth(), Freshness: f.GetFreshness(),
		Repository: f.GetRepository(), Namespace: f.GetNamespace(), Tool: f.GetManagedByTool(), Tag: f.GetTag(), Verdict: f.GetVerdict(), Global: f.GetGlobalService(),
	}
	if f != nil {
		filter.Pinned = f.Pinned
	}
	return filter
}

// Select implements operationsapi.Selector.
func (s *API) Select(_ context.Context, f *hubv1.ServiceFilter, reach identity.Reach, limit int) ([]string, error) {
	return s.Index.Select(serviceFilter(f), reach, limit)
}

// services reads rows in the order of ids; those that are gone meanwhile are left out.
func (s *API) services(ctx context.Context, ids []string) ([]*hubv1.ServiceRow, error) {
	return ordered(ctx, s, ids, serviceRow)
}

// ordered reads services and returns of each what of makes, in the order of ids; those that
// are gone meanwhile are left out.
func ordered[T any](ctx context.Context, s *API, ids []string, of func(fleet.ServiceView) T) (all []T, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	views, err := s.Fleet.ServicesByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if v, there := views[id]; there {
			all = append(all, of(v))
		}
	}
	return all, nil
}

func serviceRow(v fleet.ServiceView) *hubv1.ServiceRow {
	freshness := v.Freshness
	if freshness == "" {
		freshness = fleet.Unknown
	}
	row := &hubv1.ServiceRow{
		Id: v.ID, Cluster: v.Cluster, Name: v.Name, Namespace: v.Namespace, Project: v.Project,
		Sync: string(v.Sync), Reason: v.Reason, Health: string(v.Status.Health), Freshness: string(freshness), PolledAt: v.PolledAt, ReportedAt: v.ReportedAt,
		Message: short(v.Message), DesiredRevision: v.Desired.SourceRevision, AppliedRevision: v.Status.SourceRevision,
		CommitMessage: short(v.Desired.Message), CommitAuthor: v.Desired.Author, CommittedAt: v.Desired.CommittedAt,
		Revision: v.Revision, Paused: v.Paused, PinnedRevision: v.PinnedRevision, Deleting: v.Deleting != "", ManagedBy: management.Out(v.ManagedBy),
		Counts: &hubv1.ComponentCounts{
			Total: int32(v.Status.Counts.Total), Healthy: int32(v.Status.Counts.Healthy), Progressing: int32(v.Status.Counts.Progressing),
			Degraded: int32(v.Status.Counts.Degraded), Other: int32(v.Status.Counts.Other),
		},
		UpdatedAt: max(v.UpdatedAt, v.RevisedAt), CreatedAt: v.CreatedAt,
		Verdict: index.VerdictOf(v.Sync, v.Status.Health, freshness).String(),
	}
	for _, e := range v.Status.Errors {
		if !e.Warning {
			row.Errors++
		}
	}
	if len(v.Sources) > 0 {
		first := v.Sources[0]
		row.Repository, row.Ref, row.Folder, row.Chart = first.Repository, first.Ref, first.Folder, first.Chart
		if row.Ref == "" {
			row.Ref = first.Version
		}
	}
	return row
}

// short cuts a text for a list.
func short(text string) string {
	if utf8.RuneCountInString(text) <= maxMessage {
		return text
	}
	return string([]rune(text)[:maxMessage-1]) + "…"
}

// QueryClusters implements hubv1connect.FleetHandler.
func (s *API) QueryClusters(ctx context.Context, r *connect.Request[hubv1.QueryClustersRequest]) (*connect.Response[hubv1.QueryClustersResponse], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	at := s.Position()
	f := r.Msg.GetFilter()
	page, err := s.Index.Clusters(index.ClusterFilter{
		Text: f.GetText(), Project: f.GetProject(), Tag: f.GetTag(), Freshness: f.GetFreshness(), Tunnel: f.GetTunnel(), Verdict: f.GetVerdict(),
		Kubernetes: f.GetKubernetesVersion(), Agent: f.GetAgentVersion(), Distro: f.GetDistro(), Tool: f.GetManagedByTool(),
	}, window(r.Msg), reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.QueryClustersResponse{Total: page.Total, Unfiltered: page.Unfiltered, Facets: facets(page.Facets), ResumeToken: at.String()}
	out.Rows, err = s.clusters(ctx, page.Hits)
	return connect.NewResponse(out), err
}

// clusters reads rows in the order of the hits.
func (s *API) clusters(ctx context.Context, hits []index.ClusterHit) (rows []*hubv1.ClusterRow, err error) {
	if len(hits) == 0 {
		return nil, nil
	}
	ids, tallies := make([]string, len(hits)), make(map[string]fleet.Tally, len(hits))
	for i, h := range hits {
		ids[i], tallies[h.ID] = h.ID, h.Tally.Tally
	}
	views, err := s.Fleet.ClustersByID(ctx, ids, func(id string) fleet.Tally { return tallies[id] })
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		if v, there := views[h.ID]; there {
			rows = append(rows, &hubv1.ClusterRow{
				Cluster: s.Cluster(v), Verdict: h.Verdict.String(),
				ServicesHeld: int32(h.Tally.Held), ServicesProgressing: int32(h.Tally.Progressing), ServicesDrifted: int32(h.Tally.Drifted),
			})
		}
	}
	return rows, nil
}

// Summary implements hubv1connect.FleetHandler.
func (s *API) Summary(ctx context.Context, r *connect.Request[hubv1.FleetSummaryRequest]) (*connect.Response[hubv1.FleetSummary], error) {
	reach, err := s.Readable(ctx)
	if err != nil {
		return nil, err
	}
	at := s.Position()
	sum, err := s.Index.Summary(r.Msg.GetProject(), reach)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&hubv1.FleetSummary{
		Clusters: sum.Clusters, Services: sum.Services, ClustersByVerdict: counts(sum.ClustersByVerdict), ServicesByVerdict: counts(sum.ServicesByVerdict),
		ServicesBySync: counts(sum.ServicesBySync), ServicesByHealth: counts(sum.ServicesByHealth), ClustersByFreshness: counts(sum.ClustersByFreshness),
		ClustersByTunnel: counts(sum.ClustersByTunnel), KubernetesVersions: counts(sum.Kubernetes), AgentVersions: counts(sum.Agents),
		Repositories: sum.Repositories, RepositoriesFailed: sum.RepositoriesFailed, At: s.now(), ResumeToken: at.String(),
	}), nil
}

func (s *API) now() int64 { return clock.Micros(s.Clock.Now()) }

// window is the part of a list that a request asks for.
func window(r interface {
	GetSort() string
	GetOffset() int32
	GetLimit() int32
	GetFacets() bool
}) index.Window {
	return index.Window{Sort: r.GetSort(), Offset: int(r.GetOffset()), Limit: int(r.GetLimit()), Facets: r.GetFacets()}
}

func counts(all []index.Count) (out []*hubv1.Count) {
	for _, c := range all {
		out = append(out, &hubv1.Count{Value: c.Value, Count: c.Count})
	}
	return out
}

func facets(all []index.Facet) (out []*hubv1.Facet) {
	for _, f := range all {
		out = append(out, &hubv1.Facet{Field: f.Field, Values: counts(f.Values), LeftOut: int32(f.LeftOut)})
	}
	return out
}
