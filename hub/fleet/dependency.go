package fleet

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/fleet/cycle"
	"github.com/axle-cd/axle/hub/fleet/specrules"
)

// checkCycles returns an Invalid error when the service and others on its
// cluster would depend on each other in a cycle. Dependencies on services that
// do not exist yet are allowed: they may be created later.
func (f *Fleet) checkCycles(ctx context.Context, cluster Cluster, name string, s Spec) error {
	local := localDependencies(cluster, s)
	if len(local) == 0 {
		return nil
	}
	services, err := f.store.ServicesOfCluster(ctx, cluster.ID, nil)
	if err != nil {
		return err
	}
	graph := map[string][]string{}
	for _, other := range services {
		graph[other.Name] = localDependencies(cluster, other.Spec)
	}
	graph[name] = local
	if found := cycle.Find(graph, name); found != nil {
		return specrules.Field("dependencies", "services would wait for each other: %s", strings.Join(found, " → "))
	}
	return nil
}

// localDependencies are the services on the same cluster that a service depends
// on.
func localDependencies(cluster Cluster, s Spec) []string {
	var names []string
	for _, d := range s.Dependencies {
		if d.Cluster == "" || d.Cluster == cluster.Name {
			names = append(names, d.Name)
		}
	}
	return names
}
