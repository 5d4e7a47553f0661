package fleet

import (
	"context"
	"strings"
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
	if cycle := findCycle(graph, name, []string{name}, map[string]bool{}); cycle != nil {
		return field("dependencies", "services would wait for each other: %s", strings.Join(cycle, " → "))
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

// findCycle returns a path from the last element of trail back to goal.
func findCycle(graph map[string][]string, goal string, trail []string, seen map[string]bool) []string {
	for _, next := range graph[trail[len(trail)-1]] {
		if next == goal {
			return append(trail, goal)
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		if cycle := findCycle(graph, goal, append(trail[:len(trail):len(trail)], next), seen); cycle != nil {
			return cycle
		}
	}
	return nil
}
