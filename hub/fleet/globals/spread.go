package globals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	// turnTime is how long a turn lasts: other work of the replica waits for it.
	turnTime = time.Second
	// mostTries bounds how often a comparison is begun again because what its Liquid
	// sees changed.
	mostTries = 5
)

// Spread compares what has to be compared, until nothing is left. Work that fails
// stays, and does not stop the rest.
func (g *Globals) Spread(ctx context.Context) error {
	for {
		if more, err := g.SpreadSome(ctx); err != nil || !more {
			return err
		}
	}
}

// SpreadSome is Spread for about a second, and reports whether there may be more. The
// work of all projects takes turns, in slices.
func (g *Globals) SpreadSome(ctx context.Context) (more bool, err error) {
	g.spreading.Lock()
	defer g.spreading.Unlock()
	began, failed := g.config.Clock.Now(), []error{}
	if err := g.bindAll(ctx); err != nil {
		return false, err
	}
	for {
		all, err := g.config.Work.PendingWork(ctx, workBatch)
		if err != nil || len(all) == 0 {
			return false, err
		}
		g.begun(all)
		for _, w := range all {
			g.open[w].slices++
			if err := g.compare(ctx, w, g.open[w]); err != nil {
				failed = append(failed, fmt.Errorf("compare global service %s and cluster %s: %w", w.GlobalID, w.ClusterID, err))
			}
			if g.config.Clock.Now().Sub(began) > turnTime {
				return true, errors.Join(failed...)
			}
		}
		if len(failed) > 0 {
			return false, errors.Join(failed...)
		}
	}
}

// comparison is work that was begun.
type comparison struct {
	// after is the last cluster that was compared.
	after string
	// ready are the renderings of the slices so far, of one cluster.
	ready  *prepared
	slices int
}

// begun keeps the comparisons of the present work, and sorts it: who had fewer slices is
// first, so that a turn which ended early is continued by the others.
func (g *Globals) begun(all []Work) {
	before := g.open
	g.open = make(map[Work]*comparison, len(all))
	for _, w := range all {
		if g.open[w] = before[w]; g.open[w] == nil {
			g.open[w] = &comparison{ready: g.prepare()}
		}
	}
	slices.SortStableFunc(all, func(a, b Work) int { return cmp.Compare(g.open[a].slices, g.open[b].slices) })
}

// compare does one slice of work. While there is more, the work stays. Templates are
// rendered before the transaction; if what they see changed until then, it begins again.
func (g *Globals) compare(ctx context.Context, w Work, c *comparison) error {
	slice := g.compareChunk
	if w.GlobalID == "" {
		slice = g.compareCluster
	}
	for try := 1; ; try++ {
		c.ready.slice()
		err := slice(ctx, w, c)
		if missing := new(unrendered); !errors.As(err, &missing) || try == mostTries {
			return err
		}
	}
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

// compareChunk compares the next clusters with a global service: as many as one slice
// renders.
func (g *Globals) compareChunk(ctx context.Context, w Work, c *comparison) error {
	clusters, whole, err := g.renderChunk(ctx, w.GlobalID, c)
	if err != nil {
		return err
	}
	if len(clusters) > 0 {
		upTo := clusters[len(clusters)-1].ID
		err = g.config.Writer.Write(ctx, func(ctx context.Context) error { return g.matchChunk(ctx, w.GlobalID, c, upTo) })
		if err != nil {
			return err
		}
		c.after = upTo
	}
	if !whole {
		return nil
	}
	c.after = ""
	return g.config.Writer.Write(ctx, func(ctx context.Context) error { return g.finish(ctx, w) })
}

// renderChunk renders the templates of a global service for the next clusters. It returns
// those for which it did, and whether they are the last.
func (g *Globals) renderChunk(ctx context.Context, id string, c *comparison) (done []fleet.Cluster, whole bool, err error) {
	v, err := g.config.Store.GlobalByID(ctx, id)
	if errcode.Is(err, errcode.NotFound) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	clusters, err := g.config.States.ClustersAfter(ctx, c.after, chunk)
	if err != nil {
		return nil, false, err
	}
	c.ready = g.prepare()
	done, err = g.render(ctx, v, clusters, c.ready)
	return done, len(done) == len(clusters) && len(clusters) < chunk, err
}

// matchChunk makes the targets on the next clusters up to one what a global service wants.
func (g *Globals) matchChunk(ctx context.Context, id string, c *comparison, upTo string) error {
	v, err := g.config.Store.GlobalByID(ctx, id)
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	clusters, err := g.config.States.ClustersAfter(ctx, c.after, chunk)
	if err != nil {
		return err
	}
	if end := slices.IndexFunc(clusters, func(one fleet.Cluster) bool { return one.ID > upTo }); end >= 0 {
		clusters = clusters[:end]
	}
	return g.match(ctx, v, clusters, c.ready)
}

// compareCluster compares one cluster with the global services that select it or
// have a target on it.
func (g *Globals) compareCluster(ctx context.Context, w Work, c *comparison) error {
	err := g.ofCluster(ctx, w, func(ctx context.Context, v Global, one fleet.Cluster) error {
		_, err := g.render(ctx, v, []fleet.Cluster{one}, c.ready)
		return err
	})
	if err != nil || c.ready.spent() {
		return err
	}
	return g.config.Writer.Write(ctx, func(ctx context.Context) error {
		err := g.ofCluster(ctx, w, func(ctx context.Context, v Global, one fleet.Cluster) error {
			return g.match(ctx, v, []fleet.Cluster{one}, c.ready)
		})
		if err != nil {
			return err
		}
		return g.config.Work.WorkDone(ctx, w)
	})
}

// ofCluster calls fn with a cluster and each global service that concerns it.
func (g *Globals) ofCluster(ctx context.Context, w Work, fn func(ctx context.Context, v Global, c fleet.Cluster) error) error {
	c, err := g.config.Rows.ClusterByID(ctx, w.ClusterID)
	if errcode.Is(err, errcode.NotFound) {
		return nil
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
			if err := fn(ctx, v, c); err != nil {
				return err
			}
		}
		if len(all) < chunk {
			return nil
		}
	}
}

// match makes the targets on some clusters what a global service wants, in the
// transaction of ctx. While a changed template rolls out, that is the former one
// where the rollout was not yet.
func (g *Globals) match(ctx context.Context, v Global, clusters []fleet.Cluster, ready *prepared) error {
	parts, err := g.parts(ctx, v, clusters)
	for _, p := range parts {
		if err == nil {
			_, err = g.matchTo(ctx, p, ready)
		}
	}
	return err
}

// part is a version of a template with the clusters that get it. waits leaves targets
// alone that share a version of the template, whichever it is.
type part struct {
	global   Global
	clusters []fleet.Cluster
	waits    bool
}

// parts divides clusters among the present template and the one that is held.
func (g *Globals) parts(ctx context.Context, v Global, clusters []fleet.Cluster) ([]part, error) {
	if v.Held == 0 {
		return []part{{global: v, clusters: clusters}}, nil
	}
	reached, rest, err := g.reached(ctx, v, clusters)
	if err != nil {
		return nil, err
	}
	held, err := g.held(ctx, v)
	return []part{{global: held, clusters: rest, waits: true}, {global: v, clusters: reached}}, err
}

// matchTo is match with one version of the template, and returns the clusters on
// which a target cannot be made.
func (g *Globals) matchTo(ctx context.Context, p part, ready *prepared) ([]Failure, error) {
	v, clusters := p.global, p.clusters
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
	unbound := g.bindFormer(ctx, &v)
	if unbound != nil && !declared(unbound) {
		return nil, unbound
	}
	m := &matching{Globals: g, global: v, unbound: unbound, waits: p.waits, liquid: hasLiquid(v.Spec), projects: map[string]fleet.Project{}, existed: map[string]bool{}}
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
	if err := m.take(ready); err != nil {
		return nil, err
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
	if declared(err) {
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
	clusters := map[string]fleet.Cluster{}
	for _, p := range m.remove {
		clusters[p.cluster.ID] = p.cluster
	}
	var removals []Removal
	for _, s := range services {
		switch {
		case m.global.Cascade == Orphan || s.Spec.Protect:
			continue // it stays, as a service of nobody
		case !clusters[s.ClusterID].Registered():
			if err := m.config.Rows.DeleteService(ctx, s.ID); err != nil {
				return err
			}
			continue
		}
		r := Removal{s.ID, identity.NewID("tmb_"), fleet.Drain}
		if m.global.Cascade == Detach || s.Spec.Detach {
			r.Deletion = fleet.Detach
		} else if err := m.config.Fleet.CheckLeaves(ctx, s.Service, clusters[s.ClusterID]); err != nil {
			if err = m.fail(clusters[s.ClusterID], err); err != nil {
				return err
			}
			r.Deletion = fleet.Detach // it would wait for itself
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
