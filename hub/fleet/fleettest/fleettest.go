package fleettest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/depend"
	"github.com/axle-cd/axle/hub/fleet/follow"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/seal"
)

// Fleet is a fleet on a real database, as one replica of a hub has it. A failing step
// ends its test.
type Fleet struct {
	*fleet.Fleet
	*follow.Follower
	T        *testing.T
	Database storetest.Database
	Store    *store.Store
	Clock    *clock.Manual
	Upstream *Upstream
	Values   *config.Keeper
	Sealer   *seal.Sealer
	// Writer is the store unless it is set before Restart.
	Writer fleet.Writer

	backends []config.Place
	// standard is the default backend; empty is the built-in one.
	standard string
}

// New returns a fleet without clusters.
func New(t *testing.T, d storetest.Database) *Fleet {
	t.Helper()
	s, err := seal.Parse(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	f := &Fleet{
		T: t, Database: d, Store: d.Open(t), Clock: clock.NewManual(time.Unix(1_800_000_000, 0)),
		Upstream: &Upstream{heads: map[string]fleet.Head{}, moved: map[string]bool{}}, Sealer: s,
	}
	f.Restart()
	return f
}

// Replica returns the same fleet as another replica has it, with a store of its own.
func (f *Fleet) Replica(d storetest.Database) *Fleet {
	f.T.Helper()
	other := &Fleet{T: f.T, Database: d, Store: d.Open(f.T), Clock: f.Clock, Upstream: f.Upstream, Sealer: f.Sealer, backends: f.backends, standard: f.standard}
	other.Restart()
	return other
}

// Restart forgets what is in memory, except the store's.
func (f *Fleet) Restart() {
	f.T.Helper()
	f.Values = f.newValues()
	f.Use(f.Upstream)
}

// Again returns the fleet that a restart would make.
func (f *Fleet) Again() *fleet.Fleet {
	f.T.Helper()
	return f.of(f.Upstream, f.newValues())
}

// Keep adds backends of values, of which standard is the default.
func (f *Fleet) Keep(standard string, backends []config.Place) {
	f.T.Helper()
	f.backends, f.standard = backends, standard
	f.Restart()
}

// Use makes services follow other sources.
func (f *Fleet) Use(sources fleet.Sources) {
	f.T.Helper()
	f.Fleet = f.of(sources, f.Values)
	f.Follower = &follow.Follower{Fleet: f.Fleet, Moves: f.Store, Writer: f.Store, Sources: sources, Clock: f.Clock}
}

func (f *Fleet) newValues() *config.Keeper {
	f.T.Helper()
	values, err := config.New(config.Config{
		Documents: f.Store, Inventory: f.Store, Values: f.Store, Sets: f.Store, Uses: f.Store, Tells: f.Store, Settings: f.Store,
		Writer: f.Store, Sealer: f.Sealer, Places: f.backends, Default: f.standard,
	})
	if err != nil {
		f.T.Fatal(err)
	}
	return values
}

func (f *Fleet) of(sources fleet.Sources, values fleet.Configuration) *fleet.Fleet {
	f.T.Helper()
	writer := f.Writer
	if writer == nil {
		writer = f.Store
	}
	made, err := fleet.New(fleet.Config{
		Store: store.Fleet(f.Store), Moves: f.Store, Writer: writer, Sources: sources, Sealer: f.Sealer, Configuration: values, Dependencies: depend.New(f.Store), Objects: objects,
		DigestKey: []byte("0123456789abcdef0123456789abcdef"), Clock: f.Clock,
	})
	if err != nil {
		f.T.Fatal(err)
	}
	return made
}

// Components are the objects of a service as a report of a test has them. Other bytes
// hold no object.
func (f *Fleet) Components(list ...fleet.Object) []byte {
	f.T.Helper()
	text, err := json.Marshal(list)
	if err != nil {
		f.T.Fatal(err)
	}
	return text
}

// AddRepository registers a repository that somebody manages. Services of Spec follow main.
func (f *Fleet) AddRepository(name string, by managed.Manager) {
	f.T.Helper()
	r := gitcache.Repository{ID: "repo_" + name, Name: name, Kind: "git", URL: "https://git.example.com/" + name + ".git", ManagedBy: by}
	if _, err := f.Store.CreateRepository(f.T.Context(), r, gitcache.Credentials{}); err != nil {
		f.T.Fatal(err)
	}
}

// AddContext writes a context that somebody manages.
func (f *Fleet) AddContext(name string, by managed.Manager) {
	f.T.Helper()
	ctx := managed.WithCaller(f.T.Context(), managed.Caller{By: by})
	if _, err := f.Values.SetValueSet(ctx, config.ValueSetChange{Kind: fleet.UseContext, Name: name, By: "ann"}); err != nil {
		f.T.Fatal(err)
	}
}

func objects(components []byte) (list []fleet.Object, err error) {
	if json.Valid(components) {
		err = json.Unmarshal(components, &list)
	}
	return list, err
}

// AddCluster creates a cluster that has an agent.
func (f *Fleet) AddCluster(name string) fleet.Cluster {
	f.T.Helper()
	c, err := f.CreateCluster(f.T.Context(), "ann", fleet.NewCluster{Name: name, Tags: map[string]string{"tier": "dev"}, FleetWide: true})
	if err != nil {
		f.T.Fatal(err)
	}
	f.EnrollCluster(c.ID)
	return c
}

// EnrollCluster registers a cluster's agent.
func (f *Fleet) EnrollCluster(id string) {
	f.T.Helper()
	err := f.Store.Write(f.T.Context(), func(ctx context.Context) error {
		_, err := f.Enroll(ctx, Enrollment(id))
		return err
	})
	if err != nil {
		f.T.Fatal(err)
	}
}

// Enrollment is what identity tells of an agent that registers.
func Enrollment(clusterID string) agentkey.Enrollment {
	return agentkey.Enrollment{ClusterID: clusterID, ClusterUID: "uid-" + clusterID, AgentVersion: "0.1.0", By: "ann"}
}

// Spec is a spec of a folder in the repository main.
func Spec(folder string) fleet.Spec {
	return fleet.Spec{Repository: "main", Git: &fleet.Git{Ref: "main", Folder: folder}}
}

// AddService declares a service that follows the folder of its name.
func (f *Fleet) AddService(cluster, name string) fleet.ServiceView {
	f.T.Helper()
	return f.Must(f.CreateService(f.T.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: cluster, Name: name}, Spec: Spec(name)}))
}

// Crowd makes n services like one, all with its source and content, on its cluster.
func (f *Fleet) Crowd(v fleet.ServiceView, n int) {
	f.T.Helper()
	f.Database.Copies(f.T, "services", "id = '"+v.ID+"'", n, map[string]string{"id": storetest.Numbered("svc-"), "name": storetest.Numbered(v.Name + "-")})
	f.Database.Copies(f.T, "revisions", "service_id = '"+v.ID+"'", n, map[string]string{"service_id": storetest.Numbered("svc-")})
}

// Move commits to a service's source and notifies the fleet.
func (f *Fleet) Move(v fleet.ServiceView, n int) {
	f.T.Helper()
	f.MoveTo(v.SourceID, n)
}

// MoveTo commits to a source and notifies the fleet.
func (f *Fleet) MoveTo(sourceID string, n int) {
	f.T.Helper()
	f.Upstream.Commit(sourceID, n)
	f.Tell(sourceID)
}

// Tell notifies the fleet of a source's head.
func (f *Fleet) Tell(sourceID string) {
	f.T.Helper()
	if err := f.HeadMoved(f.T.Context(), sourceID); err != nil {
		f.T.Fatal(err)
	}
}

// Get reads a service again.
func (f *Fleet) Get(v fleet.ServiceView) fleet.ServiceView {
	f.T.Helper()
	return f.Must(f.Service(f.T.Context(), v.Ref()))
}

// Must returns the view of a call that must succeed.
func (f *Fleet) Must(v fleet.ServiceView, err error) fleet.ServiceView {
	f.T.Helper()
	if err != nil {
		f.T.Fatal(err)
	}
	return v
}

// SetValues writes a value set, as ann.
func (f *Fleet) SetValues(c config.ValueSetChange) config.ValueSetView {
	f.T.Helper()
	c.By = "ann"
	v, err := f.Values.SetValueSet(f.T.Context(), c)
	if err != nil {
		f.T.Fatal(err)
	}
	return v
}

// Report stores reports and applies the feed's rows, as a hub's feed does.
func (f *Fleet) Report(b fleet.ReportBatch) fleet.ReportResult {
	f.T.Helper()
	r, err := f.StoreReports(f.T.Context(), b)
	if err != nil {
		f.T.Fatal(err)
	}
	rows, err := f.Store.ChangesAfter(f.T.Context(), 0, 10000)
	if err != nil {
		f.T.Fatal(err)
	}
	if err := f.Apply(f.T.Context(), rows); err != nil {
		f.T.Fatal(err)
	}
	return r
}

// ReportOf is the report of a service that is as it should be.
func ReportOf(v fleet.ServiceView, base, hash string) fleet.Report {
	return fleet.Report{ServiceID: v.ID, BaseHash: base, NewHash: hash, Status: fleet.Status{
		Sync: fleet.Synced, Health: fleet.Healthy, TarballDigest: v.Desired.Digest, SpecDigest: v.SpecDigest,
		Revision: v.Revision, SourceRevision: v.Desired.SourceRevision, Components: []byte{1, 2, 3},
		Counts: fleet.Counts{Total: 1, Healthy: 1},
	}}
}

// Events are the newest events of a service or, with an empty id, of everything.
func (f *Fleet) Events(serviceID string) []event.Entry {
	f.T.Helper()
	entries, err := f.Store.Events(f.T.Context(), store.EventFilter{Service: serviceID, Limit: 100})
	if err != nil {
		f.T.Fatal(err)
	}
	return entries
}

// WantCode checks the code of an error.
func WantCode(t *testing.T, err error, code errcode.Code) {
	t.Helper()
	if !errcode.Is(err, code) {
		t.Errorf("err = %v, want code %s", err, code)
	}
}
