// Package cycle finds out for hub/fleet whether services would wait for each other.
package cycle

// Find returns a path through a graph from a name back to itself, nil for none.
func Find(graph map[string][]string, name string) []string {
	return path(graph, name, []string{name}, map[string]bool{})
}

// path returns a path from the last element of trail back to goal.
func path(graph map[string][]string, goal string, trail []string, seen map[string]bool) []string {
	for _, next := range graph[trail[len(trail)-1]] {
		if next == goal {
			return append(trail, goal)
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		if cycle := path(graph, goal, append(trail[:len(trail):len(trail)], next), seen); cycle != nil {
			return cycle
		}
	}
	return nil
}
