package hub

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	described "github.com/axle-cd/axle/api/object"
	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/objects"
	"github.com/axle-cd/axle/hub/observe"
	"github.com/axle-cd/axle/internal/errcode"
)

// newObjects creates the objects of the kinds without a table of their own, with what they
// can name and what the parts of the hub require of their kinds.
func newObjects(h *Hub) (*objects.Objects, error) {
	from := newSources(h)
	return objects.New(objects.Config{
		Store: h.store, Writer: h.store, Clock: h.config.Clock,
		Targets: map[string]objects.Target{
			"Repository": {Find: from.find, Names: from.names}, "Cluster": {Find: h.findCluster, Names: h.clusterNames},
			"Project": {Find: h.findProject, Names: h.projectNames},
		},
		Checks:   map[string]objects.Check{templateKind: from.checkTemplate, described.CustomCompatibilityMatrix.Name: checkMatrix},
		Prepares: map[string]objects.Prepare{templateKind: templates{from, h.store}.pin},
		Parts:    map[string]objects.Part{application.Kind: h.applications, observe.Kind: h.observer},
	})
}

// findCluster returns the id of a cluster. Only administrators write objects that name some.
func (h *Hub) findCluster(ctx context.Context, name string) (string, error) {
	c, err := h.fleet.ClusterNamed(ctx, name)
	if err != nil {
		return "", err
	}
	// A transaction that deletes it looks for who uses it.
	return c.ID, event.DependsOn(ctx, event.Change{Kind: event.KindCluster, Key: c.ID})
}

// clusterNames are the names of those of the clusters that are there and within reach.
func (h *Hub) clusterNames(ctx context.Context, ids []string, reach identity.Reach) (map[string]string, error) {
	names := map[string]string{}
	all, err := h.fleet.ClustersByID(ctx, ids, func(string) fleet.Tally { return fleet.Tally{} })
	for id, c := range all {
		if reach.Covers(c.Scope()) {
			names[id] = c.Name
		}
	}
	return names, err
}

func (h *Hub) findProject(ctx context.Context, name string) (string, error) {
	p, err := h.fleet.Project(ctx, name)
	if err != nil {
		return "", err
	}
	return p.ID, event.DependsOn(ctx, event.Change{Kind: event.KindProject, Key: p.ID})
}

func (h *Hub) projectNames(ctx context.Context, ids []string, reach identity.Reach) (map[string]string, error) {
	names, err := h.fleet.ProjectNames(ctx, ids...)
	maps.DeleteFunc(names, func(id, _ string) bool { return !reach.Covers(identity.Scope{Project: id}) })
	return names, err
}

// find returns the id of a registered repository that the caller may read. NotFound.
func (s sources) find(ctx context.Context, name string) (string, error) {
	r, err := s.cache.FindRepository(ctx, name)
	if errcode.Is(err, errcode.NotFound) || err == nil && !s.reads(ctx, projectOf(r)) {
		err = errcode.New(errcode.NotFound, "repository %.80q does not exist; axle repos list shows the existing ones", name)
	}
	if err != nil {
		return "", err
	}
	// A transaction that deletes it looks for who uses it.
	return r.ID, event.DependsOn(ctx, event.Change{Kind: event.KindRepository, Key: r.ID})
}

// names are the names of those of the repositories that are there and within reach.
func (s sources) names(ctx context.Context, ids []string, reach identity.Reach) (map[string]string, error) {
	names := map[string]string{}
	all, err := s.store.RepositoriesByID(ctx, ids)
	for _, r := range all {
		if reach.Covers(identity.Scope{Project: projectOf(r)}) {
			names[r.ID] = r.Name
		}
	}
	return names, err
}

// checkTemplate requires that the folder of a cluster template is in Git.
func (s sources) checkTemplate(ctx context.Context, _ json.RawMessage, references []objects.Reference) error {
	for _, reference := range references {
		if reference.TargetKind != "Repository" {
			continue
		}
		r, err := s.cache.Repository(ctx, reference.TargetID)
		if err == nil && r.Kind != gitcache.KindGit {
			err = errcode.New(errcode.Invalid, "repository: %s is of the type %s; a cluster template is a folder of a repository of the type git", r.Name, r.Kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkMatrix requires that a compatibility matrix has each version once.
func checkMatrix(_ context.Context, spec json.RawMessage, _ []objects.Reference) error {
	var matrix struct {
		Versions []struct {
			Version string `json:"version"`
			Chart   string `json:"chart_version"`
		} `json:"versions"`
	}
	if err := json.Unmarshal(spec, &matrix); err != nil {
		return errcode.New(errcode.Internal, "the settings of a compatibility matrix: %w", err)
	}
	first := map[string]int{}
	for i, v := range matrix.Versions {
		key := strings.TrimPrefix(v.Version, "v") + " " + strings.TrimPrefix(v.Chart, "v")
		if had, twice := first[key]; twice {
			return errcode.New(errcode.Invalid, "versions[%d].version: %s is in versions[%d] already, with the same chartVersion", i, v.Version, had)
		}
		first[key] = i
	}
	return nil
}
