package globals

import "github.com/axle-cd/axle/hub/fleet"

// placed is a cluster with the service that it has.
type placed struct {
	cluster fleet.Cluster
	before  Candidate
}

// matching makes one global service what it should be on some clusters.
type matching struct {
	*Globals
	global Global
	// unbound is why the template's sources are bound to nothing.
	unbound error
	liquid  bool
	waits   bool
	// rendered are what the template's Liquid is on the clusters to write, by id.
	rendered map[string]rendering
	projects map[string]fleet.Project
	// write and remove are the clusters with something to do.
	write, remove []placed
	failures      []Failure
	// shared has the sources of all targets that share the template's specs.
	shared     *fleet.Service
	sharedFail error
	// targets are written, with their clusters.
	targets  []fleet.StoredService
	clusters []fleet.Cluster
	created  int
	// room is how many more services the project of the global service may have, nil
	// before it was counted.
	room *int
	// existed are the ids of the services that are not new.
	existed map[string]bool
}

// project is the project of a target.
func (m *matching) project(c fleet.Cluster) string {
	switch {
	case m.global.ProjectID != "":
		return m.global.ProjectID
	case m.global.makesNamespace():
		return fleet.DefaultProjectID
	}
	return c.ProjectID
}

// settled reports whether a target is known to be as wanted without reading it.
func (m *matching) settled(c fleet.Cluster, s Candidate) bool {
	current := m.waits || s.SpecVersion == m.global.SpecVersion && s.follows(m.global.Repositories)
	return !m.liquid && s.OwnerID == m.global.ID && current && s.ProjectID == m.project(c)
}
