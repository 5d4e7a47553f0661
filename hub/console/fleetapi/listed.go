package fleetapi

import (
	"cmp"
	"context"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/pagetoken"
)

// usualPage and mostListed are the default and the largest page of a list of whole
// objects.
const (
	usualPage  = 100
	mostListed = 500
)

// ListedServices is the filter of a list of services.
func ListedServices(r *hubv1.ListServicesRequest) index.ServiceFilter {
	return index.ServiceFilter{
		Cluster: given(r.GetCluster()), Project: given(r.GetProject()), Name: given(r.GetName()), Tool: given(r.GetManagedByTool()),
		State: r.GetSync(), Health: r.GetHealth(),
	}
}

// ListedClusters is the filter of a list of clusters.
func ListedClusters(r *hubv1.ListClustersRequest) index.ClusterFilter {
	f := index.ClusterFilter{Project: given(r.GetProject()), Tool: given(r.GetManagedByTool()), Freshness: r.GetFreshness()}
	for key, value := range r.GetTags() {
		f.Tag = append(f.Tag, key+"="+value)
	}
	return f
}

// given is the choice of one word, none when it is empty.
func given(word string) []string {
	if word == "" {
		return nil
	}
	return []string{word}
}

// ServicePage returns a page of the services within reach that the index finds.
func (s *API) ServicePage(ctx context.Context, r *hubv1.ListServicesRequest, reach identity.Reach) (*hubv1.ListServicesResponse, error) {
	cluster, name, err := pagetoken.Parse(r.GetPageToken())
	if err != nil {
		return nil, err
	}
	ids, last, err := s.Index.ServicesAfter(ListedServices(r), fleet.Ref{Cluster: cluster, Name: name}, min(cmp.Or(max(int(r.GetPageSize()), 0), usualPage), mostListed), reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListServicesResponse{}
	if last != (fleet.Ref{}) {
		out.NextPageToken = pagetoken.Of(last.Cluster, last.Name)
	}
	out.Services, err = s.Listed(ctx, ids, r.GetBrief())
	return out, err
}

// Listed reads services in the order of ids; those that are gone meanwhile are left out.
func (s *API) Listed(ctx context.Context, ids []string, brief bool) ([]*hubv1.Service, error) {
	return ordered(ctx, s, ids, func(v fleet.ServiceView) *hubv1.Service { return Brief(s.Service(v), brief) })
}

// Brief leaves out of a spec, when brief is set, all that a list does not show.
func Brief(s *hubv1.Service, brief bool) *hubv1.Service {
	if brief {
		s.Spec = &hubv1.ServiceSpec{Repository: s.GetSpec().GetRepository(), Git: s.GetSpec().GetGit()}
	}
	return s
}

// ClusterPage returns a page of the clusters within reach that the index finds.
func (s *API) ClusterPage(ctx context.Context, r *hubv1.ListClustersRequest, reach identity.Reach) (*hubv1.ListClustersResponse, error) {
	name, _, err := pagetoken.Parse(r.GetPageToken())
	if err != nil {
		return nil, err
	}
	hits, last, err := s.Index.ClustersAfter(ListedClusters(r), name, min(cmp.Or(max(int(r.GetPageSize()), 0), mostListed), mostListed), reach)
	if err != nil {
		return nil, err
	}
	out := &hubv1.ListClustersResponse{}
	if last != "" {
		out.NextPageToken = pagetoken.Of(last, "")
	}
	rows, err := s.clusters(ctx, hits)
	for _, row := range rows {
		out.Clusters = append(out.Clusters, row.GetCluster())
	}
	return out, err
}
