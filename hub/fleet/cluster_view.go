package fleet

import (
	"context"

	"github.com/axle-cd/axle/internal/errcode"
)

// Cluster returns a cluster by name. NotFound.
func (f *clusters) Cluster(ctx context.Context, name string) (ClusterView, error) {
	c, err := f.store.ClusterByName(ctx, name)
	if err != nil {
		return ClusterView{}, err
	}
	return f.viewCluster(ctx, c)
}

// ClusterNamed returns a cluster's row by its name, without the counts of its
// services, for callers that only need to identify the cluster. NotFound.
func (f *clusters) ClusterNamed(ctx context.Context, name string) (Cluster, error) {
	return f.store.ClusterByName(ctx, name)
}

// ClusterByID returns a cluster by id. NotFound.
func (f *clusters) ClusterByID(ctx context.Context, id string) (ClusterView, error) {
	c, err := f.store.ClusterByID(ctx, id)
	if err != nil {
		return ClusterView{}, err
	}
	return f.viewCluster(ctx, c)
}

// ClustersByID returns those of the clusters that exist, by id, with counts from
// tally.
func (f *clusters) ClustersByID(ctx context.Context, ids []string, tally func(id string) Tally) (map[string]ClusterView, error) {
	all, err := f.store.ClustersByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	views := make(map[string]ClusterView, len(all))
	for _, c := range all {
		views[c.ID] = f.clusterView(c, tally(c.ID))
	}
	return views, nil
}

func (f *clusters) viewCluster(ctx context.Context, c Cluster) (ClusterView, error) {
	tallies, err := f.store.ClusterTallies(ctx, c.ID)
	if err != nil {
		return ClusterView{}, err
	}
	return f.clusterView(c, tallies[c.ID]), nil
}

// ClusterByHandle returns a cluster's row by its handle. NotFound.
func (f *clusters) ClusterByHandle(ctx context.Context, handle string) (Cluster, error) {
	return f.store.ClusterByHandle(ctx, handle)
}

// Clusters returns clusters in order of name.
func (f *clusters) Clusters(ctx context.Context, filter ClusterFilter) ([]ClusterView, error) {
	projectID := ""
	if filter.Project != "" {
		p, err := f.projects.Project(ctx, filter.Project)
		if err != nil {
			return nil, err
		}
		projectID = p.ID
	}
	clusters, err := f.store.Clusters(ctx, projectID)
	if err != nil {
		return nil, err
	}
	tallies, err := f.store.ClusterTallies(ctx, "")
	if err != nil {
		return nil, err
	}
	views := make([]ClusterView, 0, len(clusters))
	for _, c := range clusters {
		if c.has(filter.Tags) && (filter.Reach == nil || filter.Reach.Covers(c.Scope())) {
			views = append(views, f.clusterView(c, tallies[c.ID]))
		}
	}
	return views, nil
}

func (c Cluster) has(tags map[string]string) bool {
	for key, value := range tags {
		if c.Tags[key] != value {
			return false
		}
	}
	return true
}

// clusterView adds the current state. A Stale cluster does not count as
// healthy, whatever it last reported.
func (f *clusters) clusterView(c Cluster, t Tally) ClusterView {
	f.live.Polls.SetInterval(c.ID, c.PollInterval)
	view := ClusterView{Cluster: c, Freshness: Unknown, Services: t.Services, ServicesHealthy: t.Healthy, ServicesFailed: t.Failed}
	if c.Registered() {
		view.Freshness, view.PolledAt = f.live.Freshness(c.ID)
	}
	if view.Freshness == Stale {
		view.ServicesHealthy = 0
	}
	return view
}

// LoadClusters streams every cluster.
func (f *clusters) LoadClusters(ctx context.Context, fn func(ClusterRow) error) error {
	return f.store.EachClusterRow(ctx, fn)
}

// LoadCluster returns one cluster's row. NotFound.
func (f *clusters) LoadCluster(ctx context.Context, id string) (ClusterRow, error) {
	c, err := f.store.ClusterByID(ctx, id)
	if err != nil {
		return ClusterRow{}, err
	}
	return ClusterRow{ID: c.ID, Name: c.Name, Pending: c.Pending, Destroying: c.Origin.Destroying}, nil
}

// clusterFor returns the cluster that a service names. Its NotFound error says
// what to do.
func (f *clusters) clusterFor(ctx context.Context, name string) (Cluster, error) {
	c, err := f.store.ClusterByName(ctx, name)
	if errcode.Is(err, errcode.NotFound) {
		return c, errcode.New(errcode.NotFound, "cluster %.80q does not exist; axle clusters list shows the existing ones", name)
	}
	return c, err
}
