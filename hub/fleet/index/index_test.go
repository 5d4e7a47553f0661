package index_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/index"
	"github.com/axle-cd/axle/hub/identity"
)

// The verdict is written once; see docs/glossary.md.
func TestVerdictIsTheWorstThatIsKnown(t *testing.T) {
	for _, tc := range []struct {
		sync      fleet.Sync
		health    fleet.Health
		freshness fleet.Freshness
		want      index.Verdict
	}{
		{fleet.Synced, fleet.Healthy, fleet.Fresh, index.Healthy},
		{fleet.Synced, fleet.Healthy, fleet.Unknown, index.Healthy},
		{fleet.Synced, fleet.Healthy, fleet.Stale, index.Stale},
		{fleet.Failed, fleet.Degraded, fleet.Stale, index.Stale},
		{fleet.Failed, fleet.Healthy, fleet.Fresh, index.Failed},
		{fleet.Held, fleet.Healthy, fleet.Fresh, index.Failed},
		{fleet.Synced, fleet.Degraded, fleet.Fresh, index.Failed},
		{fleet.Paused, fleet.Degraded, fleet.Fresh, index.Failed},
		{fleet.Drifted, fleet.Degraded, fleet.Fresh, index.Failed},
		{fleet.Drifted, fleet.Progressing, fleet.Fresh, index.Drifted},
		{fleet.Paused, fleet.Healthy, fleet.Fresh, index.Paused},
		{fleet.Paused, fleet.Progressing, fleet.Fresh, index.Paused},
		{fleet.Synced, fleet.Suspended, fleet.Fresh, index.Paused},
		{fleet.Applying, fleet.Healthy, fleet.Fresh, index.Progressing},
		{fleet.Pending, fleet.Progressing, fleet.Fresh, index.Progressing},
		{fleet.Synced, fleet.Missing, fleet.Fresh, index.Progressing},
		{fleet.Pending, fleet.HealthUnknown, fleet.Unknown, index.Pending},
		{fleet.Pending, fleet.Healthy, fleet.Fresh, index.Pending},
		{fleet.Synced, fleet.HealthUnknown, fleet.Fresh, index.Pending},
		{"", "", "", index.Pending},
	} {
		if got := index.VerdictOf(tc.sync, tc.health, tc.freshness); got != tc.want {
			t.Errorf("%s, %s, %s: got %s, want %s", tc.sync, tc.health, tc.freshness, got, tc.want)
		}
	}
}

// rows is a fleet that a test changes, as the database has it.
type rows struct {
	projects []index.Project
	services map[string]index.Facts
	clusters map[string]fleet.Cluster
	failing  map[string]bool
	// reads counts the services that were read.
	reads int
}

func (r *rows) EachService(_ context.Context, ids []string, fn func(index.Facts) error) error {
	if ids == nil {
		for id := range r.services {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if f, there := r.services[id]; there {
			r.reads++
			f.Failing = r.failing[f.SourceID]
			if err := fn(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *rows) FailingSources(_ context.Context, ids []string) (all []string, _ error) {
	for id := range r.failing {
		if ids == nil || slices.Contains(ids, id) {
			all = append(all, id)
		}
	}
	return all, nil
}

func (r *rows) ServicesOfSource(_ context.Context, id, after string, limit int) (all []string, _ error) {
	for _, f := range r.services {
		if f.SourceID == id && f.ID > after {
			all = append(all, f.ID)
		}
	}
	slices.Sort(all)
	return all[:min(len(all), limit)], nil
}

func (r *rows) IndexedClusters(_ context.Context, ids []string) (all []fleet.Cluster, _ error) {
	for id, c := range r.clusters {
		if ids == nil || slices.Contains(ids, id) {
			all = append(all, c)
		}
	}
	return all, nil
}

func (*rows) IndexedRepositories(context.Context, []string) ([]index.Repository, error) {
	return nil, nil
}

func (r *rows) IndexedProjects(context.Context, []string) ([]index.Project, error) {
	return r.projects, nil
}

// fleetOf makes clusters with services, all Synced and Healthy, and their index.
func fleetOf(tb testing.TB, clusters, services int) (*rows, *index.Index) {
	tb.Helper()
	r := &rows{services: map[string]index.Facts{}, clusters: map[string]fleet.Cluster{}, failing: map[string]bool{}}
	for i := range clusters {
		id := fmt.Sprintf("cls_%022d", i)
		r.clusters[id] = fleet.Cluster{ID: id, Name: fmt.Sprintf("edge-%05d", i), Handle: fmt.Sprintf("edge-%05d", i), ProjectID: "prj_1", Project: "retail", RegisteredAt: 1, Tags: map[string]string{"site": fmt.Sprint(i % 300)}}
		for j := range services {
			f := index.Facts{Repository: fmt.Sprint("config-", j%20), Service: fleet.Service{
				ID: fmt.Sprintf("svc_%016d_%05d", i, j), ClusterID: id, Name: fmt.Sprintf("service-%02d", j), Namespace: fmt.Sprint("ns-", j%40), ProjectID: "prj_1", Project: "retail",
				SourceID: fmt.Sprint("src_", j), RepositoryID: fmt.Sprint("rep_", j%20), Revision: 1, SpecDigest: "s1:1", Desired: fleet.Content{SourceRevision: fmt.Sprintf("%040d", j), Digest: "axle1:1"},
			}}
			f.Status = fleet.StoredStatus{ServiceID: f.ID, ReportedAt: int64(j), Status: fleet.Status{Sync: fleet.Synced, Health: fleet.Healthy, TarballDigest: "axle1:1", SpecDigest: "s1:1", SourceRevision: f.Desired.SourceRevision}}
			r.services[f.ID] = f
		}
	}
	x := index.New(index.Config{
		Store:     index.Store{ServiceStore: r, ObjectStore: r},
		Freshness: func(string) (fleet.Freshness, int64) { return fleet.Fresh, 1 },
		Tunnel:    func(string) (string, int64) { return "Up", 1 },
	})
	if err := x.Rebuild(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return r, x
}

var everywhere = identity.All

// verdicts are the counts of services by verdict, as a text.
func verdicts(t *testing.T, x *index.Index) string {
	t.Helper()
	sum, err := x.Summary("", everywhere)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(sum.ServicesByVerdict)
}

func row(kind event.Kind, key, cluster string) event.Row {
	return event.Row{Change: event.Change{Kind: kind, Key: key, Cluster: cluster}}
}

// A list of whole objects is read in pages that continue after a name, and one that is
// followed is matched id by id: both find the same.
func TestListsInPages(t *testing.T) {
	r, x := fleetOf(t, 5, 4)
	degraded, deleting := "svc_0000000000000001_00002", "svc_0000000000000003_00001"
	for id, fn := range map[string]func(*index.Facts){
		degraded: func(f *index.Facts) { f.Status.Health = fleet.Degraded },
		deleting: func(f *index.Facts) { f.Deleting = "delete" },
	} {
		f := r.services[id]
		fn(&f)
		r.services[id] = f
	}
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(maps.Keys(r.services))
	for name, tc := range map[string]struct {
		filter index.ServiceFilter
		want   []string
	}{
		"all":      {index.ServiceFilter{}, all},
		"health":   {index.ServiceFilter{Health: []string{"Degraded"}}, []string{degraded}},
		"deleting": {index.ServiceFilter{State: []string{"Deleting"}}, []string{deleting}},
		"state":    {index.ServiceFilter{State: []string{"Synced"}}, slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == deleting })},
		"name":     {index.ServiceFilter{Name: []string{"service-01"}, Cluster: []string{"edge-00002"}}, []string{"svc_0000000000000002_00001"}},
		"cluster":  {index.ServiceFilter{Cluster: []string{"edge-00004"}}, all[16:]},
	} {
		var paged []string
		for after, more := (fleet.Ref{}), true; more; {
			ids, last, err := x.ServicesAfter(tc.filter, after, 3, everywhere)
			if err != nil || len(ids) > 3 {
				t.Fatal(ids, err)
			}
			paged, after, more = append(paged, ids...), last, last != fleet.Ref{}
		}
		whole, err := x.MatchServices(tc.filter, nil, everywhere)
		some, err2 := x.MatchServices(tc.filter, all, everywhere)
		if err := cmp.Or(err, err2); err != nil || !slices.Equal(paged, tc.want) || !slices.Equal(whole, tc.want) || !slices.Equal(some, tc.want) {
			t.Errorf("%s: in pages %v, whole %v, of all ids %v, want %v (%v)", name, paged, whole, some, tc.want, err)
		}
	}
	if none, _ := x.MatchServices(index.ServiceFilter{}, all, identity.Reach{Projects: []string{"prj_2"}}); len(none) != 0 {
		t.Errorf("out of reach: %v", none)
	}
	if _, _, err := x.ServicesAfter(index.ServiceFilter{State: []string{"Broken"}}, fleet.Ref{}, 3, everywhere); err == nil || !strings.Contains(err.Error(), "Deleting") {
		t.Errorf("an unknown state: %v", err)
	}
	var names []string
	for after, more := "", true; more; {
		hits, last, err := x.ClustersAfter(index.ClusterFilter{Tag: []string{"site=1", "site=2", "site=3"}}, after, 2, everywhere)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			names = append(names, r.clusters[h.ID].Name)
		}
		after, more = last, last != ""
	}
	if hits, err := x.MatchClusters(index.ClusterFilter{Tag: []string{"site=1"}}, slices.Sorted(maps.Keys(r.clusters)), everywhere); err != nil || len(hits) != 1 || !slices.Equal(names, []string{"edge-00001", "edge-00002", "edge-00003"}) {
		t.Errorf("clusters %v, matching %v (%v)", names, hits, err)
	}
}

// The services of a cluster that is deleted are named as changed: lists have them.
func TestADeletedClusterTakesItsServicesOutOfLists(t *testing.T) {
	r, x := fleetOf(t, 2, 3)
	var told []index.Change
	x.Listen(func(c index.Change) { told = append(told, c) })
	cluster := "cls_0000000000000000000001"
	delete(r.clusters, cluster)
	maps.DeleteFunc(r.services, func(_ string, f index.Facts) bool { return f.ClusterID == cluster })
	if err := x.Apply(t.Context(), []event.Row{row(event.KindCluster, cluster, cluster)}); err != nil {
		t.Fatal(err)
	}
	if len(told) != 1 || len(told[0].Services) != 3 {
		t.Errorf("told %+v", told)
	}
}

func TestIndexFollowsTheFeed(t *testing.T) {
	r, x := fleetOf(t, 2, 3)
	var told []index.Change
	x.Listen(func(c index.Change) { told = append(told, c) })
	apply := func(want string, rows ...event.Row) {
		t.Helper()
		if err := x.Apply(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if got := verdicts(t, x); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	id, cluster := "svc_0000000000000001_00002", "cls_0000000000000000000001"
	change := func(fn func(*index.Facts)) {
		f := r.services[id]
		fn(&f)
		r.services[id] = f
	}
	change(func(f *index.Facts) { f.Status.Sync = fleet.Failed })
	r.reads = 0
	apply("[{Failed 1} {Healthy 5}]", row(event.KindStatus, id, cluster))
	if r.reads != 1 || len(told) != 1 || !slices.Equal(told[0].Services, []string{id}) || !slices.Equal(told[0].Clusters, []string{cluster}) || len(told[0].Scopes) == 0 {
		t.Errorf("%d reads, told %+v", r.reads, told)
	}
	change(func(f *index.Facts) { f.Status.Sync, f.Desired.Digest = fleet.Synced, "axle1:2" })
	apply("[{Pending 1} {Healthy 5}]", row(event.KindService, id, ""))
	change(func(f *index.Facts) { f.Paused = true })
	apply("[{Paused 1} {Healthy 5}]", row(event.KindService, id, ""))
	change(func(f *index.Facts) { f.Paused, f.Desired.Digest, f.Status.Health = false, "axle1:1", fleet.Degraded })
	// A report that changed many names only its cluster.
	apply("[{Failed 1} {Healthy 5}]", row(event.KindStatus, "", cluster))
	// A source that cannot be used fails a service that has nothing else.
	change(func(f *index.Facts) { f.Status.Health, f.Desired.Digest, f.Status.Sync = fleet.Healthy, "", "" })
	r.failing["src_2"] = true
	apply("[{Failed 1} {Healthy 5}]", row(event.KindHead, "src_2", ""))
	delete(r.failing, "src_2")
	apply("[{Pending 1} {Healthy 5}]", row(event.KindHead, "src_2", ""))
	// The same head again changes no service.
	r.reads = 0
	apply("[{Pending 1} {Healthy 5}]", row(event.KindHead, "src_2", ""))
	if r.reads != 0 {
		t.Errorf("a head that is as before makes %d services read", r.reads)
	}
	delete(r.services, id)
	apply("[{Healthy 5}]", row(event.KindService, id, ""))
	delete(r.clusters, cluster)
	apply("[{Healthy 3}]", row(event.KindCluster, cluster, ""))
	// Who has the console open is told of what concerns no row.
	for kind, hint := range map[event.Kind]string{event.KindNotification: "notifications", event.KindOperation: "operations"} {
		told = nil
		apply("[{Healthy 3}]", row(kind, "any", ""))
		if len(told) != 1 || !slices.Equal(told[0].Hints, []string{hint}) || told[0].Scopes != nil || !slices.Contains(index.Hints, hint) {
			t.Errorf("%s: told %+v, want the hint %s for everybody", kind, told, hint)
		}
	}
	// A service may come before its cluster.
	r.services[id] = index.Facts{Service: fleet.Service{ID: id, ClusterID: "cls_new", Name: "late"}}
	apply("[{Healthy 3}]", row(event.KindService, id, ""))
	r.clusters["cls_new"] = fleet.Cluster{ID: "cls_new", Name: "a-new"}
	apply("[{Pending 1} {Healthy 3}]", row(event.KindCluster, "cls_new", ""))
	page, err := x.Services(index.ServiceFilter{}, index.Window{}, everywhere)
	if err != nil || len(page.IDs) != 4 || page.IDs[0] != id {
		t.Errorf("got %v, %v; a-new is the first cluster", page.IDs, err)
	}
}

// A rebuild and a chain of changes come to the same.
func TestChangesAndARebuildAreTheSame(t *testing.T) {
	r, x := fleetOf(t, 20, 5)
	n := 0
	for id, f := range r.services {
		switch n++; n % 4 {
		case 0:
			delete(r.services, id)
		case 1:
			f.Status.Sync, f.Namespace = fleet.Drifted, fmt.Sprint("moved-", n)
			r.services[id] = f
		case 2:
			f.Desired.SourceRevision, f.Repository, f.RepositoryID = fmt.Sprint("rev", n), "other", "rep_other"
			r.services[id] = f
		}
		if err := x.Apply(t.Context(), []event.Row{row(event.KindService, id, "")}); err != nil {
			t.Fatal(err)
		}
	}
	rebuilt := index.New(index.Config{
		Store:     index.Store{ServiceStore: r, ObjectStore: r},
		Freshness: func(string) (fleet.Freshness, int64) { return fleet.Fresh, 1 }, Tunnel: func(string) (string, int64) { return "Up", 1 },
	})
	if err := rebuilt.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, sort := range []string{"cluster", "name", "-namespace", "repository", "verdict", "-reported_at", "-cluster"} {
		w := index.Window{Sort: sort, Limit: 500, Facets: true}
		a, errA := x.Services(index.ServiceFilter{}, w, everywhere)
		b, errB := rebuilt.Services(index.ServiceFilter{}, w, everywhere)
		if err := errors.Join(errA, errB); err != nil || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: %v\n%v\n%v", sort, err, a, b)
		}
	}
}

// memoryOf returns what a service costs, with its share of its cluster.
func memoryOf(tb testing.TB, clusters, services int) float64 {
	tb.Helper()
	r, _ := fleetOf(tb, clusters, services)
	measure := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	x := index.New(index.Config{
		Store:     index.Store{ServiceStore: r, ObjectStore: r},
		Freshness: func(string) (fleet.Freshness, int64) { return fleet.Fresh, 1 }, Tunnel: func(string) (string, int64) { return "Up", 1 },
	})
	if err := x.Rebuild(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	each := float64(measure()-before) / float64(clusters*services)
	runtime.KeepAlive(x)
	return each
}

// A service costs at most 250 B, and a cluster at most 600 B beside its tags.
func TestAServiceIsSmall(t *testing.T) {
	if each := memoryOf(t, 2000, 10); each > 310 {
		t.Errorf("a service with a tenth of its cluster costs %.0f B", each)
	}
}

func BenchmarkMemory(b *testing.B) {
	var each float64
	for b.Loop() {
		each = memoryOf(b, 10_000, 10)
	}
	b.ReportMetric(each, "B/service")
}

func FuzzFilter(f *testing.F) {
	for _, text := range []string{"", "a*b?c !d", "***", "!", "tier=prod", "\x00", strings.Repeat("*a", 50)} {
		f.Add(text, "tier=prod", "-name")
	}
	_, x := fleetOf(f, 3, 3)
	f.Fuzz(func(t *testing.T, text, tag, sort string) {
		page, err := x.Services(index.ServiceFilter{Text: text, Tag: []string{tag}}, index.Window{Sort: sort, Facets: true}, everywhere)
		if err == nil && (page.Total > page.Unfiltered || page.Unfiltered != 9) {
			t.Errorf("%d of %d", page.Total, page.Unfiltered)
		}
		results, totals, err := x.Search(text, 5, everywhere)
		if err == nil && len(results) < len(totals) {
			t.Errorf("%q: %v of %v", text, results, totals)
		}
	})
}

// What the proxy asks: a role that holds in every namespace of a cluster must not lead
// around the limits of its project.
func TestLimitsOfProjects(t *testing.T) {
	r, x := fleetOf(t, 1, 1)
	r.projects = []index.Project{
		{ID: fleet.DefaultProjectID, Name: fleet.DefaultProject},
		{ID: "prj_own", Name: "own", Limits: fleet.Limits{ClusterScoped: true}},
		{ID: "prj_usual", Name: "usual"},
		{ID: "prj_account", Name: "account", Limits: fleet.Limits{ClusterScoped: true, ServiceAccount: "deployer"}},
		{ID: "prj_kinds", Name: "kinds", Limits: fleet.Limits{ClusterScoped: true, Kinds: []string{"ConfigMap"}}},
		{ID: "prj_spaces", Name: "spaces", Limits: fleet.Limits{ClusterScoped: true, Namespaces: []string{"shop-*"}}},
	}
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][2]bool{
		fleet.DefaultProjectID: {false, false}, "prj_own": {false, false}, "prj_usual": {false, true}, "prj_account": {false, true},
		"prj_kinds": {false, true}, "prj_spaces": {true, true}, "prj_unknown": {true, true},
	} {
		namespaces, anything := x.Limits(id)
		if got := [2]bool{namespaces, anything}; got != want {
			t.Errorf("%s: limits namespaces and anything: %v, want %v", id, got, want)
		}
	}
}
