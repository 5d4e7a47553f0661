package index

import (
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
)

// Facts are what is read of a service.
type Facts struct {
	// Service has what decides about its state, and its names.
	fleet.Service
	// Repository is the name of the first source's repository, Global that of the
	// global service that made it.
	Repository string
	Global     string
	// Failing is set when a source in its current state cannot be used.
	Failing bool
	// Status has the states, the digests and the time of the report.
	Status fleet.StoredStatus
}

// Repository is what is held of a repository.
type Repository struct {
	ID, Name, URL, ProjectID string
	// FailedSince is 0 while it can be read; Message is the error otherwise.
	FailedSince int64
	Message     string
	// Internal ones are followed by the hub itself.
	Internal bool
}

// Scope is the repository's scope for access.
func (r Repository) Scope() identity.Scope { return identity.Scope{Project: r.ProjectID} }

// Project is what is held of a project.
type Project struct {
	ID, Name string
	Limits   fleet.Limits
}

// limited reports whether the project limits what its services may write.
func (p Project) limited() bool {
	return len(p.Limits.Namespaces)+len(p.Limits.Kinds) > 0 || p.Limits.ServiceAccount != "" || !fleet.Trusted(p.ID) && !p.Limits.ClusterScoped
}

// ServiceStore reads services for the index.
type ServiceStore interface {
	// EachService streams the facts of those of the services that exist, of all when
	// ids is nil.
	EachService(ctx context.Context, ids []string, fn func(Facts) error) error
	// FailingSources returns those of the sources, of all when ids is nil, that cannot
	// be used in their current state.
	FailingSources(ctx context.Context, ids []string) ([]string, error)
	// ServicesOfSource returns up to limit ids, after an id, of services that follow a
	// source, in order.
	ServicesOfSource(ctx context.Context, sourceID, after string, limit int) ([]string, error)
}

// ObjectStore reads the other objects for the index. All are returned when ids is nil.
type ObjectStore interface {
	IndexedClusters(ctx context.Context, ids []string) ([]fleet.Cluster, error)
	IndexedRepositories(ctx context.Context, ids []string) ([]Repository, error)
	IndexedProjects(ctx context.Context, ids []string) ([]Project, error)
}

// Store reads what the index is made of.
type Store struct {
	ServiceStore
	ObjectStore
}

// The flags of a service.
const (
	flagPinned = 1 << iota
	flagDeleting
	flagPaused
)

// service is one row. Its size matters: there are ten for each cluster.
type service struct {
	id      string
	cluster *cluster
	// changed is the sequence of the feed row that it was last read for.
	reportedAt, updatedAt, createdAt             int64
	name, namespace, project, repository, global uint32
	desired, applied, tool                       uint32
	sync, health, flags                          uint8
}

// cluster is one cluster with its services in order of name.
type cluster struct {
	fleet.Cluster
	// text is what searches look in, in lower case.
	text string
	// known is set once its own row was read.
	known bool
	// project is the number of its project.
	project  uint32
	services []*service
	tally    Tally
}

// Tally counts the services of a cluster by their last reported state.
type Tally struct {
	fleet.Tally
	Held, Progressing, Drifted int
	// worst is the worst verdict of a fresh service.
	worst Verdict
}

// table holds everything. It is not safe for concurrent use.
type table struct {
	services map[string]*service
	clusters map[string]*cluster
	// ordered are the known clusters in order of name.
	ordered      []*cluster
	repositories map[string]Repository
	projects     map[string]Project
	failing      map[string]bool

	names, namespaces, project, repository, globals, revisions, tools *words
}

func newTable() *table {
	return &table{
		services: map[string]*service{}, clusters: map[string]*cluster{}, repositories: map[string]Repository{}, projects: map[string]Project{}, failing: map[string]bool{},
		names: newWords(), namespaces: newWords(), project: newWords(), repository: newWords(), globals: newWords(), revisions: newWords(), tools: newWords(),
	}
}

// at returns a cluster's entry and creates it when there is none: rows of a service and
// of its cluster come in any order.
func (t *table) at(id string) *cluster {
	c := t.clusters[id]
	if c == nil {
		c = &cluster{Cluster: fleet.Cluster{ID: id}}
		t.clusters[id] = c
	}
	return c
}

func byName(c *cluster, name string) int { return strings.Compare(c.Name, name) }

func (t *table) putCluster(v fleet.Cluster) {
	c := t.at(v.ID)
	was := c.project
	v.Metadata, v.Installation = "", fleet.Cluster{}.Installation
	if !c.known {
		i, _ := slices.BinarySearchFunc(t.ordered, v.Name, byName)
		t.ordered = slices.Insert(t.ordered, i, c)
	}
	c.Cluster, c.known = v, true
	c.project = t.project.hold(v.ProjectID, v.Project)
	t.project.release(was)
	var text strings.Builder
	text.WriteString(strings.ToLower(v.Name + " " + v.Handle + " " + v.Project))
	for key, value := range v.Tags {
		text.WriteString(" " + strings.ToLower(key+"="+value))
	}
	c.text = text.String()
}

func (t *table) dropCluster(id string) {
	c := t.clusters[id]
	if c == nil {
		return
	}
	for _, s := range slices.Clone(c.services) {
		t.drop(s.id)
	}
	if c.known {
		if i, found := slices.BinarySearchFunc(t.ordered, c.Name, byName); found {
			t.ordered = slices.Delete(t.ordered, i, i+1)
		}
		t.project.release(c.project)
	}
	delete(t.clusters, id)
}

func (t *table) put(f Facts) {
	s := t.services[f.ID]
	if s == nil {
		s = &service{id: strings.Clone(f.ID)}
		t.services[s.id] = s
	}
	was := *s
	c := t.at(f.ClusterID)
	if s.cluster != c {
		t.leave(s)
	}
	moved := s.cluster == nil
	s.cluster = c
	s.reportedAt, s.createdAt, s.updatedAt = f.Status.ReportedAt, f.CreatedAt, max(f.UpdatedAt, f.RevisedAt)
	s.name, s.namespace = t.names.hold(f.Name, f.Name), t.namespaces.hold(f.Namespace, f.Namespace)
	s.project, s.repository = t.project.hold(f.ProjectID, f.Project), t.repository.hold(f.RepositoryID, f.Repository)
	s.global, s.tool = t.globals.hold(f.Global, f.Global), t.tools.hold(string(f.ManagedBy.Tool), string(f.ManagedBy.Tool))
	s.desired, s.applied = t.revisions.hold(f.Desired.SourceRevision, f.Desired.SourceRevision), t.revisions.hold(f.Status.SourceRevision, f.Status.SourceRevision)
	s.sync, s.health, s.flags = syncs.number(string(fleet.SyncNow(f.Service, f.Status, f.Failing))), healths.number(string(f.Status.Health)), 0
	s.flag(flagPinned, f.PinnedRevision != 0)
	s.flag(flagDeleting, f.Deleting != "")
	s.flag(flagPaused, f.Paused)
	// Only now: a text whose last use ends would be numbered and ordered again.
	t.release(&was)
	if moved {
		i, _ := slices.BinarySearchFunc(c.services, f.Name, t.serviceByName)
		c.services = slices.Insert(c.services, i, s)
	}
}

func (s *service) flag(flag uint8, set bool) {
	if set {
		s.flags |= flag
	}
}

func (t *table) serviceByName(s *service, name string) int {
	return strings.Compare(t.names.texts[s.name], name)
}

// release ends the uses of a service's texts.
func (t *table) release(s *service) {
	t.names.release(s.name)
	t.namespaces.release(s.namespace)
	t.project.release(s.project)
	t.repository.release(s.repository)
	t.globals.release(s.global)
	t.tools.release(s.tool)
	t.revisions.release(s.desired)
	t.revisions.release(s.applied)
}

// leave takes a service out of its cluster.
func (t *table) leave(s *service) {
	if s.cluster == nil {
		return
	}
	if i := slices.Index(s.cluster.services, s); i >= 0 {
		s.cluster.services = slices.Delete(s.cluster.services, i, i+1)
	}
	s.cluster = nil
}

func (t *table) drop(id string) {
	s := t.services[id]
	if s == nil {
		return
	}
	t.leave(s)
	t.release(s)
	delete(t.services, id)
}

// count computes the tally of a cluster again.
func (t *table) count(c *cluster) {
	n := Tally{worst: Healthy}
	for _, s := range c.services {
		n.Services++
		v := s.verdict(fleet.Fresh)
		switch n.worst = min(n.worst, v); v {
		case Failed:
			n.Failed++
		case Drifted:
			n.Drifted++
		case Progressing, Pending:
			n.Progressing++
		case Healthy:
			n.Healthy++
		}
		if s.sync == syncHeld {
			n.Held++
		}
	}
	c.tally = n
}
