package index

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// followersPage is how many services of a source are read at once.
const followersPage = 500

// Config configures an Index. All but Log are required.
type Config struct {
	Store Store
	// Freshness returns how fresh a cluster is, and when it polled last.
	Freshness func(clusterID string) (fleet.Freshness, int64)
	// Tunnel returns Up, Down or Off, and since when.
	Tunnel func(clusterID string) (string, int64)
	Log    *slog.Logger
}

// Change is what one batch of feed rows changed.
type Change struct {
	Services, Clusters []string
	// Hints are the words of what changed, see Hints.
	Hints []string
	// Scopes are those of what changed, to find out who may know of it; nil when
	// everybody may.
	Scopes []identity.Scope
	// All is set when everything may have changed, Topics when all that is watched may.
	All, Topics bool
}

// Hints are the kinds of changes that Change names.
var Hints = []string{"fleet", "clusters", "services", "repositories", "rollouts", "events", "operations", "notifications"}

// Index is the read model. It is an event.Subscriber, and safe for concurrent use.
type Index struct {
	store     Store
	freshness func(string) (fleet.Freshness, int64)
	tunnel    func(string) (string, int64)
	log       *slog.Logger
	listeners []func(Change)

	mu sync.RWMutex
	// table is nil until the first Rebuild.
	table *table
}

var _ event.Subscriber = (*Index)(nil)

// New returns an Index that answers nothing before Rebuild.
func New(c Config) *Index {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Index{store: c.Store, freshness: c.Freshness, tunnel: c.Tunnel, log: c.Log}
}

// Listen adds a function that is called after each change. It must be added before the
// feed runs, and must not block: the feed waits for it.
func (x *Index) Listen(fn func(Change)) { x.listeners = append(x.listeners, fn) }

func (x *Index) tell(c Change) {
	for _, fn := range x.listeners {
		fn(c)
	}
}

// Rebuild loads everything again, while the old table still answers.
func (x *Index) Rebuild(ctx context.Context) error {
	start := time.Now()
	t := newTable()
	if err := x.loadObjects(ctx, t); err != nil {
		return err
	}
	if err := x.store.EachService(ctx, nil, func(f Facts) error {
		t.put(f)
		return nil
	}); err != nil {
		return fmt.Errorf("load services: %w", err)
	}
	for _, c := range t.clusters {
		t.count(c)
	}
	x.mu.Lock()
	x.table = t
	x.mu.Unlock()
	x.tell(Change{All: true})
	x.log.Info("the index of the fleet is loaded", logkey.Count, len(t.services), logkey.Duration, time.Since(start))
	return nil
}

func (x *Index) loadObjects(ctx context.Context, t *table) error {
	clusters, err := x.store.IndexedClusters(ctx, nil)
	if err != nil {
		return fmt.Errorf("load clusters: %w", err)
	}
	for _, c := range clusters {
		t.putCluster(c)
	}
	repositories, err := x.store.IndexedRepositories(ctx, nil)
	if err != nil {
		return fmt.Errorf("load repositories: %w", err)
	}
	for _, r := range repositories {
		t.repositories[r.ID] = r
	}
	projects, err := x.store.IndexedProjects(ctx, nil)
	if err != nil {
		return fmt.Errorf("load projects: %w", err)
	}
	for _, p := range projects {
		t.projects[p.ID] = p
	}
	failing, err := x.store.FailingSources(ctx, nil)
	if err != nil {
		return fmt.Errorf("load failing sources: %w", err)
	}
	for _, id := range failing {
		t.failing[id] = true
	}
	return nil
}

// ids is a set.
type ids map[string]bool

func (all ids) sorted() []string { return slices.Sorted(maps.Keys(all)) }

// batch is what some feed rows are about.
type batch struct {
	services, clusters, repositories, projects, sources, reports, hints ids
	// touched are the clusters whose services changed, scopes what changed was of.
	touched ids
	scopes  []identity.Scope
	// wide is set when something changed that has no scope.
	wide bool
}

// hintsOf are the hints of a row's kind.
var hintsOf = map[event.Kind][]string{
	event.KindCluster: {"fleet", "clusters", "events"}, event.KindService: {"fleet", "services", "events"}, event.KindStatus: {"fleet", "services", "clusters", "events"},
	event.KindRepository: {"repositories"}, event.KindHead: {"repositories"}, event.KindSource: {"repositories"}, event.KindGlobal: {"rollouts"},
	event.KindOperation: {"operations"}, event.KindNotification: {"notifications"},
}

// wide are the kinds of rows that do not say whose they are.
var wide = map[event.Kind]bool{event.KindHead: true, event.KindSource: true, event.KindGlobal: true, event.KindOperation: true, event.KindNotification: true}

func batchOf(rows []event.Row) *batch {
	b := batch{services: ids{}, clusters: ids{}, repositories: ids{}, projects: ids{}, sources: ids{}, reports: ids{}, hints: ids{}, touched: ids{}}
	for _, r := range rows {
		for _, hint := range hintsOf[r.Kind] {
			b.hints[hint] = true
		}
		b.wide = b.wide || wide[r.Kind]
		switch r.Kind {
		case event.KindService:
			b.services[r.Key] = true
		case event.KindStatus:
			if r.Key != "" {
				b.services[r.Key] = true
			} else {
				b.reports[r.Cluster] = true
			}
		case event.KindCluster:
			b.clusters[r.Key] = true
		case event.KindRepository:
			b.repositories[r.Key] = true
		case event.KindHead:
			b.sources[r.Key] = true
		case event.KindProject:
			b.projects[r.Key] = true
		}
	}
	return &b
}

// Apply reads the objects again that the rows name.
func (x *Index) Apply(ctx context.Context, rows []event.Row) error {
	b := batchOf(rows)
	x.reported(b)
	if err := x.applySources(ctx, b); err != nil {
		return err
	}
	if err := x.applyObjects(ctx, b); err != nil {
		return err
	}
	if err := x.applyServices(ctx, b); err != nil {
		return err
	}
	maps.Copy(b.touched, b.clusters)
	x.mu.Lock()
	for id := range b.touched {
		if c := x.table.clusters[id]; c != nil {
			x.table.count(c)
		}
	}
	x.mu.Unlock()
	if len(b.hints)+len(b.touched) > 0 {
		change := Change{Services: b.services.sorted(), Clusters: b.touched.sorted(), Hints: b.hints.sorted(), Scopes: b.scopes}
		if b.wide {
			change.Scopes = nil
		}
		x.tell(change)
	}
	return nil
}

// reported adds the services of clusters that reported as a whole.
func (x *Index) reported(b *batch) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for id := range b.reports {
		if c := x.table.clusters[id]; c != nil {
			for _, s := range c.services {
				b.services[s.id] = true
			}
		}
	}
}

// applySources adds the services of sources that can be used again, or no longer.
func (x *Index) applySources(ctx context.Context, b *batch) error {
	if len(b.sources) == 0 {
		return nil
	}
	failing, err := x.store.FailingSources(ctx, b.sources.sorted())
	if err != nil {
		return fmt.Errorf("load failing sources: %w", err)
	}
	for id := range b.sources {
		is := slices.Contains(failing, id)
		x.mu.RLock()
		was := x.table.failing[id]
		x.mu.RUnlock()
		if is == was {
			continue
		}
		for after := ""; ; {
			page, err := x.store.ServicesOfSource(ctx, id, after, followersPage)
			if err != nil {
				return fmt.Errorf("load the services of source %s: %w", id, err)
			}
			for _, service := range page {
				b.services[service], after = true, service
			}
			if len(page) < followersPage {
				break
			}
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range b.sources {
		delete(x.table.failing, id)
	}
	for _, id := range failing {
		x.table.failing[id] = true
	}
	return nil
}

// applyObjects reads clusters, repositories and projects again.
func (x *Index) applyObjects(ctx context.Context, b *batch) error {
	var clusters []fleet.Cluster
	var repositories []Repository
	var projects []Project
	var errs [3]error
	if len(b.clusters) > 0 {
		clusters, errs[0] = x.store.IndexedClusters(ctx, b.clusters.sorted())
	}
	if len(b.repositories) > 0 {
		repositories, errs[1] = x.store.IndexedRepositories(ctx, b.repositories.sorted())
	}
	if len(b.projects) > 0 {
		projects, errs[2] = x.store.IndexedProjects(ctx, b.projects.sorted())
	}
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	gone := maps.Clone(b.clusters)
	for _, c := range clusters {
		x.table.putCluster(c)
		b.scopes = append(b.scopes, c.Scope())
		delete(gone, c.ID)
	}
	for id := range gone {
		if c := x.table.clusters[id]; c != nil {
			b.scopes = append(b.scopes, c.Scope())
			for _, s := range c.services {
				b.services[s.id] = true
			}
		}
		x.table.dropCluster(id)
	}
	for id := range b.repositories {
		b.scopes = append(b.scopes, x.table.repositories[id].Scope())
		delete(x.table.repositories, id)
	}
	for _, r := range repositories {
		x.table.repositories[r.ID] = r
		b.scopes = append(b.scopes, r.Scope())
	}
	for id := range b.projects {
		delete(x.table.projects, id)
	}
	for _, p := range projects {
		x.table.projects[p.ID] = p
	}
	return nil
}

// applyServices reads services again, and adds their clusters to touched.
func (x *Index) applyServices(ctx context.Context, b *batch) error {
	if len(b.services) == 0 {
		return nil
	}
	var facts []Facts
	if err := x.store.EachService(ctx, b.services.sorted(), func(f Facts) error {
		facts = append(facts, f)
		return nil
	}); err != nil {
		return fmt.Errorf("load services: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	gone := maps.Clone(b.services)
	touch := func(id string) {
		if s := x.table.services[id]; s != nil {
			b.touched[s.cluster.ID] = true
			b.scopes = append(b.scopes, x.table.scope(s))
		}
	}
	for _, f := range facts {
		delete(gone, f.ID)
		touch(f.ID)
		x.table.put(f)
		touch(f.ID)
	}
	for id := range gone {
		touch(id)
		x.table.drop(id)
	}
	return nil
}

var errLoading = errcode.New(errcode.Unavailable, "the hub is loading the index of the fleet; try again in a second").After(time.Second)

// view gives fn the table, which must not be used afterwards.
func (x *Index) view(fn func(t *table)) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.table == nil {
		return errLoading
	}
	fn(x.table)
	return nil
}
