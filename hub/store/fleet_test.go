package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/follow"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
)

// upstream replaces the git cache: it knows what sources point at.
type upstream struct {
	mu    sync.Mutex
	heads map[string]fleet.Head
	moved map[string]bool
	// failing repositories, by id.
	failing map[string]fleet.Upstream
}

func (u *upstream) Follow(_ context.Context, w fleet.SourceWant) (sourceID, repositoryID string, err error) {
	if w.Repository+w.URL == "missing" {
		return "", "", errcode.New(errcode.Invalid, "repository: no such repository")
	}
	repositoryID = "repo_" + w.Repository + w.URL
	return sourceIDOf(repositoryID, w.Ref+w.Version, w.Folder+w.Chart), repositoryID, nil
}

func (u *upstream) Upstreams(context.Context, []string) (map[string]fleet.Upstream, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.failing), nil
}

func sourceIDOf(repository, ref, folder string) string {
	return "src_" + repository + "_" + ref + "_" + folder
}

func (u *upstream) Heads(_ context.Context, ids []string) (map[string]fleet.Head, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	heads := map[string]fleet.Head{}
	for _, id := range ids {
		if h, ok := u.heads[id]; ok {
			heads[id] = h
		}
	}
	return heads, nil
}

func (u *upstream) Moved(_ context.Context, after string, limit int) ([]string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(u.moved)), func(id string) bool { return id <= after })
	return ids[:min(limit, len(ids))], nil
}

func (u *upstream) Followed(_ context.Context, ids []string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, id := range ids {
		delete(u.moved, id)
	}
	return nil
}

// commit makes a source point at the n-th content.
func (u *upstream) commit(id string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.heads[id] = fleet.Head{SourceID: id, Content: fleet.Content{
		RepositoryID: "repo_main", SourceRevision: fmt.Sprintf("%040d", n), Digest: fmt.Sprintf("axle1:%064d", n),
		Message: fmt.Sprintf("change %d", n), Author: "eve",
	}}
	u.moved[id] = true
}

func (u *upstream) fail(id, text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.heads[id]
	h.SourceID, h.Error, h.ErrorAt = id, text, 7
	u.heads[id], u.moved[id] = h, true
}

// yard is a fleet on a real database.
type yard struct {
	*fleet.Fleet
	*follow.Follower
	t        *testing.T
	store    *store.Store
	clock    *clock.Manual
	upstream *upstream
	sealer   *seal.Sealer
	values   *config.Keeper
	// backends are more than the built-in one, and standard is the default.
	backends map[string]*memory
	standard string
}

func newSealer(t *testing.T) *seal.Sealer {
	t.Helper()
	s, err := seal.Parse(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newYard(t *testing.T, d storetest.Database) *yard {
	t.Helper()
	y := &yard{
		t: t, store: d.Open(t), clock: clock.NewManual(time.Unix(1_800_000_000, 0)),
		upstream: &upstream{heads: map[string]fleet.Head{}, moved: map[string]bool{}}, sealer: newSealer(t),
	}
	y.Fleet = y.newFleet()
	return y
}

func (y *yard) newFleet() *fleet.Fleet {
	y.t.Helper()
	values, err := config.New(config.Config{Store: y.store, Tells: y.store, Writer: y.store, Sealer: y.sealer, Places: y.places(), Default: y.standard})
	if err != nil {
		y.t.Fatal(err)
	}
	y.values = values
	return y.fleetOf(y.upstream)
}

// fleetOf creates a fleet, and the follower of its heads.
func (y *yard) fleetOf(sources fleet.Sources) *fleet.Fleet {
	y.t.Helper()
	f, err := fleet.New(fleet.Config{
		Store: y.store, Moves: y.store, Writer: y.store, Sources: sources, Sealer: y.sealer, Configuration: y.values,
		DigestKey: []byte("0123456789abcdef0123456789abcdef"), Clock: y.clock,
	})
	if err != nil {
		y.t.Fatal(err)
	}
	y.Follower = &follow.Follower{Fleet: f, Moves: y.store, Writer: y.store, Sources: sources, Clock: y.clock}
	return f
}

// cluster makes a cluster that has an agent.
func (y *yard) cluster(name string) fleet.Cluster {
	y.t.Helper()
	c, err := y.CreateCluster(y.t.Context(), "ann", fleet.NewCluster{Name: name, Tags: map[string]string{"tier": "dev"}})
	if err != nil {
		y.t.Fatal(err)
	}
	y.enroll(c.ID)
	return c
}

func (y *yard) enroll(clusterID string) {
	y.t.Helper()
	err := y.store.Write(y.t.Context(), func(ctx context.Context) error {
		_, err := y.Enroll(ctx, enrollment(clusterID))
		return err
	})
	if err != nil {
		y.t.Fatal(err)
	}
}

func spec(folder string) fleet.Spec {
	return fleet.Spec{Repository: "main", Git: &fleet.Git{Ref: "main", Folder: folder}}
}

// service declares a service whose source has content.
func (y *yard) service(cluster, name string) fleet.ServiceView {
	y.t.Helper()
	v, err := y.CreateService(y.t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: cluster, Name: name}, Spec: spec(name)})
	if err != nil {
		y.t.Fatal(err)
	}
	return v
}

// move commits to a service's source and notifies the fleet.
func (y *yard) move(v fleet.ServiceView, n int) {
	y.t.Helper()
	y.upstream.commit(v.SourceID, n)
	if err := y.HeadMoved(y.t.Context(), v.SourceID); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) get(v fleet.ServiceView) fleet.ServiceView {
	y.t.Helper()
	now, err := y.Service(y.t.Context(), v.Ref())
	if err != nil {
		y.t.Fatal(err)
	}
	return now
}

// must fails the test on an error of a call that gives a view.
func (y *yard) must(v fleet.ServiceView, err error) fleet.ServiceView {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
	return v
}

func wantCode(t *testing.T, err error, code errcode.Code) {
	t.Helper()
	if !errcode.Is(err, code) {
		t.Errorf("err = %v, want code %s", err, code)
	}
}
