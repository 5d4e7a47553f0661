package globals

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// chunk is how many clusters one transaction compares.
	chunk = 500
	// workBatch is how many rows of work are read together.
	workBatch = 200
	// eachTold is the largest number of targets in a transaction for which each
	// gets its own event.
	eachTold = 20
)

// Spread compares what has to be compared, until nothing is left. Work that fails
// stays, and does not stop the rest.
func (g *Globals) Spread(ctx context.Context) error {
	for {
		all, err := g.config.Work.PendingWork(ctx, workBatch)
		if err != nil || len(all) == 0 {
			return err
		}
		var failed []error
		for _, w := range all {
			if err := g.compare(ctx, w); err != nil {
				failed = append(failed, fmt.Errorf("compare global service %s and cluster %s: %w", w.GlobalID, w.ClusterID, err))
			}
		}
		if len(failed) > 0 {
			return errors.Join(failed...)
		}
	}
}

func (g *Globals) compare(ctx context.Context, w Work) error {
	if w.GlobalID == "" {
		return g.compareCluster(ctx, w)
	}
	for after := ""; ; {
		var last string
		err := g.config.Writer.Write(ctx, func(ctx context.Context) (err error) {
			last, err = g.compareChunk(ctx, w.GlobalID, after)
			return err
		})
		if err != nil {
			return err
		}
		if last == "" {
			break
		}
		after = last
	}
	return g.config.Writer.Write(ctx, func(ctx context.Context) error { return g.finish(ctx, w) })
}

// finish ends the comparison of a global service with all clusters.
func (g *Globals) finish(ctx context.Context, w Work) error {
	v, err := g.config.Store.GlobalByID(ctx, w.GlobalID)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return err
	}
	if !v.Deleting {
		return g.config.Work.WorkDone(ctx, w)
	}
	gone, err := g.config.Store.ForgetGlobal(ctx, v.ID)
	if err == nil && !gone {
		err = errcode.New(errcode.Conflict, "%s has services still", noun(v.Name)) // the work stays
	}
	if err != nil {
		return err
	}
	if err := g.config.Work.WorkDone(ctx, w); err != nil {
		return err
	}
	if err := event.Append(ctx, event.Change{Kind: event.KindGlobal, Key: v.ID}); err != nil {
		return err
	}
	return event.Record(ctx, event.Entry{Kind: "global_service.deleted", Object: noun(v.Name), By: "hub"})
}

// compareChunk compares the clusters after an id, and returns the last one, empty
// at the end.
func (g *Globals) compareChunk(ctx context.Context, id, after string) (last string, err error) {
	v, err := g.config.Store.GlobalByID(ctx, id)
	if errcode.Is(err, errcode.NotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	clusters, err := g.config.States.ClustersAfter(ctx, after, chunk)
	if err != nil || len(clusters) == 0 {
		return "", err
	}
	if len(clusters) == chunk {
		last = clusters[chunk-1].ID
	}
	return last, g.match(ctx, v, clusters)
}

// compareCluster compares one cluster with the global services that select it or
// have a target on it.
func (g *Globals) compareCluster(ctx context.Context, w Work) error {
	return g.config.Writer.Write(ctx, func(ctx context.Context) error {
		c, err := g.config.Rows.ClusterByID(ctx, w.ClusterID)
		if errcode.Is(err, errcode.NotFound) {
			return g.config.Work.WorkDone(ctx, w)
		}
		if err != nil {
			return err
		}
		made, err := g.config.States.MadeOn(ctx, c.ID)
		if err != nil {
			return err
		}
		for after := ""; ; {
			all, err := g.config.Store.Globals(ctx, after, chunk, nil)
			if err != nil {
				return err
			}
			for _, v := range all {
				after = v.Name
				if !v.selects(c) && !slices.Contains(made, v.ID) {
					continue
				}
				if v, err = g.config.Store.GlobalByID(ctx, v.ID); err != nil {
					return err
				}
				if err := g.match(ctx, v, []fleet.Cluster{c}); err != nil {
					return err
				}
			}
			if len(all) < chunk {
				return g.config.Work.WorkDone(ctx, w)
			}
		}
	})
}

// match makes the targets on some clusters what a global service wants, in the
// transaction of ctx. While a changed template rolls out, that is the former one
// where the rollout was not yet.
func (g *Globals) match(ctx context.Context, v Global, clusters []fleet.Cluster) error {
	if v.Held == 0 {
		_, err := g.matchTo(ctx, v, clusters, false)
		return err
	}
	reached, rest, err := g.reached(ctx, v, clusters)
	if err != nil {
		return err
	}
	held, err := g.held(ctx, v)
	if err != nil {
		return err
	}
	if _, err := g.matchTo(ctx, held, rest, true); err != nil {
		return err
	}
	_, err = g.matchTo(ctx, v, reached, false)
	return err
}

// matchTo is match with one version of the template, and returns the clusters on
// which a target cannot be made. waits leaves targets alone that share a version of
// the template, whichever it is.
func (g *Globals) matchTo(ctx context.Context, v Global, clusters []fleet.Cluster, waits bool) ([]Failure, error) {
	if len(clusters) == 0 {
		return nil, nil
	}
	ids := make([]string, len(clusters))
	for i, c := range clusters {
		ids[i] = c.ID
	}
	found, err := g.config.Targets.Candidates(ctx, v.Name, ids)
	if err != nil {
		return nil, err
	}
	existing := make(map[string]Candidate, len(found))
	for _, s := range found {
		existing[s.ClusterID] = s
	}
	m := &matching{Globals: g, global: v, waits: waits, liquid: hasLiquid(v.Spec), projects: map[string]fleet.Project{}, existed: map[string]bool{}}
	for _, c := range clusters {
		s, exists := existing[c.ID]
		owned := exists && s.ManagedBy == v.Manager()
		switch {
		case !v.selects(c):
			if owned && s.Deleting == "" {
				m.remove = append(m.remove, placed{cluster: c, before: s})
			}
		case !exists:
			m.write = append(m.write, placed{cluster: c})
		case s.Deleting != "":
			// Its name is free later.
		case !owned && !v.mayTake(s):
			// Its name is free later, or never. People chose that of a global service, and
			// leave out by it the clusters that have it; that of a part of a managed
			// namespace is the hub's.
			if v.Namespace != "" {
				m.failures = append(m.failures, Failure{ClusterID: c.ID, At: m.now(), Message: errcode.New(errcode.Conflict,
					"the cluster has a service %s that the managed namespace %s did not make; delete it, or declare it under another name", v.Name, v.Namespace).Error()})
			}
		case !owned || !m.settled(c, s):
			m.write = append(m.write, placed{cluster: c, before: s})
		}
	}
	if err := m.do(ctx); err != nil {
		return nil, err
	}
	return m.failures, g.config.States.SetFailures(ctx, v.ID, ids, m.failures)
}

// mayTake reports whether a service that others made becomes a target: never one
// of the hub itself, of another global service, or of another project.
func (g Global) mayTake(s Candidate) bool {
	builtin := fleet.Service{ParentID: s.ParentID, SourceID: s.SourceID}.Builtin()
	return g.Reparent && !builtin && s.ManagedBy.Tool != managed.Hub && (g.ProjectID == "" || s.ProjectID == g.ProjectID)
}

// placed is a cluster with the service that it has.
type placed struct {
	cluster fleet.Cluster
	before  Candidate
}

// matching makes one global service what it should be on some clusters.
type matching struct {
	*Globals
	global   Global
	liquid   bool
	waits    bool
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
	return !m.liquid && s.OwnerID == m.global.ID && (m.waits || s.SpecVersion == m.global.SpecVersion) && s.ProjectID == m.project(c)
}

func (m *matching) do(ctx context.Context) error {
	if len(m.write)+len(m.remove) == 0 {
		return nil
	}
	for _, p := range slices.Concat(m.write, m.remove) {
		// The cluster's data is in the spec digest, and decided what is done.
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindCluster, Key: p.cluster.ID}); err != nil {
			return err
		}
	}
	if err := m.removeAll(ctx); err != nil {
		return err
	}
	if err := m.prepare(ctx); err != nil {
		return err
	}
	if err := m.store(ctx); err != nil {
		return err
	}
	return m.tell(ctx)
}

// fail records why a cluster has not the wanted target. Other errors than those
// of the declaration end the transaction.
func (m *matching) fail(c fleet.Cluster, err error) error {
	if errcode.Is(err, errcode.Invalid) || errcode.Is(err, errcode.Forbidden) || errcode.Is(err, errcode.Conflict) || errcode.Is(err, errcode.NotFound) {
		m.failures = append(m.failures, Failure{ClusterID: c.ID, Message: err.Error(), At: m.now()})
		return nil
	}
	return err
}

// removeAll releases the targets on clusters that are not selected any more.
func (m *matching) removeAll(ctx context.Context) error {
	if len(m.remove) == 0 {
		return nil
	}
	var ids []string
	for _, p := range m.remove {
		ids = append(ids, p.before.ID)
	}
	if err := m.config.Targets.OwnSpecs(ctx, ids); err != nil {
		return err
	}
	services, err := m.config.Rows.ServicesByID(ctx, ids)
	if err != nil {
		return err
	}
	registered := map[string]bool{}
	for _, p := range m.remove {
		registered[p.cluster.ID] = p.cluster.Registered()
	}
	var removals []Removal
	for _, s := range services {
		switch {
		case m.global.Cascade == Orphan || s.Spec.Protect:
			continue // it stays, as a service of nobody
		case !registered[s.ClusterID]:
			if err := m.config.Rows.DeleteService(ctx, s.ID); err != nil {
				return err
			}
			continue
		}
		r := Removal{s.ID, identity.NewID("tmb_"), fleet.Drain}
		if m.global.Cascade == Detach || s.Spec.Detach {
			r.Deletion = fleet.Detach
		}
		removals = append(removals, r)
	}
	return m.config.Targets.ReleaseTargets(ctx, ids, removals, m.now())
}

// prepare makes the wanted targets. A target that is as wanted is left out.
func (m *matching) prepare(ctx context.Context) error {
	if len(m.write) == 0 {
		return nil
	}
	var ids, split []string
	for _, p := range m.write {
		if p.before.ID != "" {
			ids = append(ids, p.before.ID)
			m.existed[p.before.ID] = true
			if m.liquid && p.before.OwnerID != "" {
				split = append(split, p.before.ID)
			}
		}
	}
	if err := m.config.Targets.OwnSpecs(ctx, split); err != nil {
		return err
	}
	read, err := m.config.Rows.ServicesByID(ctx, ids)
	if err != nil {
		return err
	}
	services := make(map[string]fleet.StoredService, len(read))
	for _, s := range read {
		services[s.ID] = s
	}
	for _, p := range m.write {
		s, changed, err := m.wanted(ctx, p, services[p.before.ID])
		if err != nil {
			if err = m.fail(p.cluster, err); err != nil {
				return err
			}
			continue
		}
		if !changed && slices.Contains(split, s.ID) {
			// It is as before, and what it uses was noted for its template.
			if err := m.config.Fleet.BindValues(ctx, s.Service); err != nil {
				return err
			}
		}
		if changed {
			m.targets, m.clusters = append(m.targets, s), append(m.clusters, p.cluster)
		}
	}
	return nil
}
