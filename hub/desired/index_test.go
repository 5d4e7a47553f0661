package desired_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/desired"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/internal/errcode"
)

// start returns an index over two clusters: one with two services, one empty.
func start(t *testing.T) (*rows, *desired.Index) {
	t.Helper()
	r := newRows()
	r.clusters["c1"] = fleet.ClusterRow{ID: "c1", Name: "edge-1"}
	r.clusters["c2"] = fleet.ClusterRow{ID: "c2", Name: "edge-2"}
	r.services["s1"] = service("c1", "s1", 1)
	r.services["s2"] = service("c1", "s2", 2)
	return r, index(t, r)
}

func index(t *testing.T, r *rows) *desired.Index {
	t.Helper()
	x, err := desired.New(desired.Config{Fleet: r, Feed: r})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	return x
}

func apply(t *testing.T, x *desired.Index, changes ...event.Change) {
	t.Helper()
	var all []event.Row
	for i, c := range changes {
		all = append(all, event.Row{Change: c, Sequence: int64(i + 2)})
	}
	if err := x.Apply(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, r *rows, x *desired.Index, row fleet.Row) {
	t.Helper()
	r.services[row.ID] = row
	apply(t, x, event.Change{Kind: event.KindService, Key: row.ID, Cluster: row.ClusterID})
}

func etag(t *testing.T, x *desired.Index, cluster string) string {
	t.Helper()
	tag, err := x.ETag(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// give fetches a cluster's list, like an agent.
func give(t *testing.T, x *desired.Index, cluster string) {
	t.Helper()
	if _, err := x.For(cluster); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsAnsweredBeforeTheIndexIsWhole(t *testing.T) {
	r := newRows()
	x, err := desired.New(desired.Config{Fleet: r, Feed: r})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.ETag("c1"); !errcode.Is(err, errcode.Unavailable) || errcode.RetryAfter(err) == 0 {
		t.Errorf("etag: %v", err)
	}
	if _, err := x.For("c1"); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("list: %v", err)
	}
	if x.MayFetch("c1", digestOf(1)) {
		t.Error("a tarball was promised")
	}
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := x.ETag("c1"); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("unknown cluster: %v", err)
	}
}

func TestListIsWhatTheRowsSay(t *testing.T) {
	r, x := start(t)
	gone := service("c1", "s3", 3)
	gone.Deleting, gone.TombstoneID = fleet.Drain, "t1"
	put(t, r, x, gone)
	never := service("c1", "s0", 0)
	never.Digest, never.TarballBytes, never.Paused = "", 0, true
	put(t, r, x, never)
	got, err := x.For("c1")
	if err != nil {
		t.Fatal(err)
	}
	want := desired.List{
		ClusterID: "c1", ClusterName: "edge-1", ETag: etag(t, x, "c1"), Position: r.at, Incarnation: r.life,
		Services: []desired.Service{
			{ID: "s0", Name: "web-s0", Namespace: "apps", SpecDigest: specOf(0), Paused: true},
			{ID: "s1", Name: "web-s1", Namespace: "apps", TarballDigest: digestOf(1), TarballBytes: 10, SpecDigest: specOf(1)},
			{ID: "s2", Name: "web-s2", Namespace: "apps", TarballDigest: digestOf(2), TarballBytes: 10, SpecDigest: specOf(2)},
		},
		Tombstones: []desired.Tombstone{{ServiceID: "s3", TombstoneID: "t1", Mode: "drain", Name: "web-s3", Namespace: "apps"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestETagIsTheMeaning(t *testing.T) {
	tests := map[string]struct {
		change  func(*fleet.Row)
		differs bool
	}{
		"nothing":     {func(*fleet.Row) {}, false},
		"size":        {func(s *fleet.Row) { s.TarballBytes = 99 }, false},
		"pinned":      {func(s *fleet.Row) { s.Pinned = true }, false},
		"tarball":     {func(s *fleet.Row) { s.Digest = digestOf(7) }, true},
		"no tarball":  {func(s *fleet.Row) { s.Digest = "" }, true},
		"spec":        {func(s *fleet.Row) { s.SpecDigest = specOf(7) }, true},
		"name":        {func(s *fleet.Row) { s.Name = "other" }, true},
		"namespace":   {func(s *fleet.Row) { s.Namespace = "other" }, true},
		"paused":      {func(s *fleet.Row) { s.Paused = true }, true},
		"tombstone":   {func(s *fleet.Row) { s.Deleting, s.TombstoneID = fleet.Detach, "t" }, true},
		"a part":      {func(s *fleet.Row) { s.Parts = parts(1, 5) }, true},
		"moved texts": {func(s *fleet.Row) { s.Name, s.Namespace = s.Name+s.Namespace[:1], s.Namespace[1:] }, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, x := start(t)
			before, other := etag(t, x, "c1"), etag(t, x, "c2")
			row := r.services["s1"]
			tc.change(&row)
			put(t, r, x, row)
			after := etag(t, x, "c1")
			if (before != after) != tc.differs {
				t.Errorf("%s -> %s", before, after)
			}
			if etag(t, x, "c2") != other {
				t.Error("another cluster's etag changed")
			}
			// A replica that starts now, and this one after a restart, give the
			// same result.
			if again := etag(t, index(t, r), "c1"); again != after {
				t.Errorf("a fresh index says %s, this one %s", again, after)
			}
			if !strings.HasPrefix(after, `W/"`) || len(after) != 20 {
				t.Errorf("form: %s", after)
			}
		})
	}
}

// Replicas see changes in other batches and at other times, and a starting one
// sees none of them: the same entries give the same list.
func TestETagForgetsTheWayThere(t *testing.T) {
	r, x := start(t)
	late := index(t, r)
	random := rand.New(rand.NewPCG(1, 2))
	var missed []event.Change
	for n := range 400 {
		cluster := fmt.Sprintf("c%d", 1+random.IntN(2))
		row := service(cluster, fmt.Sprintf("s%d", random.IntN(20)), 1+random.IntN(5))
		switch random.IntN(6) {
		case 0:
			row.Paused = true
		case 1:
			row.Deleting, row.TombstoneID = fleet.Drain, "t1"
		case 2:
			row.Parts = parts(1, 1+random.IntN(5))
		}
		change := event.Change{Kind: event.KindService, Key: row.ID, Cluster: cluster}
		if random.IntN(4) == 0 {
			delete(r.services, row.ID)
		} else {
			r.services[row.ID] = row
		}
		apply(t, x, change)
		if missed = append(missed, change); n%17 == 0 {
			apply(t, late, missed...)
			missed = nil
			fresh := index(t, r)
			for _, c := range []string{"c1", "c2"} {
				if a, b, d := etag(t, x, c), etag(t, late, c), etag(t, fresh, c); a != b || a != d {
					t.Fatalf("after %d changes: %s, in one batch %s, afresh %s", n+1, a, b, d)
				}
			}
		}
	}
}

// A person who syncs all services of a cluster changes its list thousands of
// times: each must cost what changed, not the list.
func TestETagAfterAChangeCostsTheChange(t *testing.T) {
	r, x := start(t)
	for n := range 3000 {
		row := service("c1", fmt.Sprintf("many-%d", n), n)
		r.services[row.ID] = row
	}
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	give(t, x, "c1")
	const changes = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range changes {
		row := r.services["many-7"]
		row.SpecDigest = specOf(n)
		put(t, r, x, row)
		etag(t, x, "c1")
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / changes; each > 32<<10 {
		t.Errorf("a change of one of 3000 services takes %d B", each)
	}
}

func TestNewLifeOfTheDatabaseIsNewToAgents(t *testing.T) {
	r, x := start(t)
	before := etag(t, x, "c1")
	r.life = event.Incarnation{ID: "b", ParentID: "a"}
	if _, err := x.ETag("c1"); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("between two lives: %v", err)
	}
	r.at = event.Position{Incarnation: "b", Sequence: 1}
	held := etag(t, x, "c1")
	r.life.Confirmed = true
	confirmed := etag(t, x, "c1")
	if before == held || held == confirmed {
		t.Errorf("etags %s %s %s", before, held, confirmed)
	}
}

func TestTombstoneIsRepeatedUntilItsRowGoes(t *testing.T) {
	r, x := start(t)
	row := r.services["s1"]
	row.Deleting, row.TombstoneID = fleet.Drain, "t1"
	put(t, r, x, row)
	for range 3 {
		list, err := x.For("c1")
		if err != nil || len(list.Tombstones) != 1 || len(list.Services) != 1 {
			t.Fatalf("list %+v, %v", list, err)
		}
	}
	delete(r.services, "s1")
	apply(t, x, event.Change{Kind: event.KindService, Key: "s1", Cluster: "c1"})
	list, err := x.For("c1")
	if err != nil || len(list.Tombstones) != 0 || len(list.Services) != 1 {
		t.Fatalf("list %+v, %v", list, err)
	}
}

func TestPendingClusterGetsNothing(t *testing.T) {
	r, x := start(t)
	before := etag(t, x, "c1")
	r.clusters["c1"] = fleet.ClusterRow{ID: "c1", Name: "edge-1", Pending: true}
	apply(t, x, event.Change{Kind: event.KindCluster, Key: "c1", Cluster: "c1"})
	list, err := x.For("c1")
	if err != nil || !list.Pending || len(list.Services) != 0 || list.ETag == before {
		t.Errorf("list %+v, %v", list, err)
	}
	if x.MayFetch("c1", digestOf(1)) {
		t.Error("a tarball was promised")
	}
	r.clusters["c1"] = fleet.ClusterRow{ID: "c1", Name: "edge-1"}
	apply(t, x, event.Change{Kind: event.KindCluster, Key: "c1", Cluster: "c1"})
	if after := etag(t, x, "c1"); after != before {
		t.Errorf("approved: %s, before %s", after, before)
	}
}

func TestDeletedClusterIsUnknown(t *testing.T) {
	r, x := start(t)
	delete(r.clusters, "c1")
	apply(t, x, event.Change{Kind: event.KindCluster, Key: "c1", Cluster: "c1"})
	if _, err := x.For("c1"); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("list: %v", err)
	}
	if _, services := x.Size(); services != 0 {
		t.Errorf("%d services are left", services)
	}
}

func TestTarballsOfTheLastListsOfTheOwnCluster(t *testing.T) {
	r, x := start(t)
	give(t, x, "c1")
	for n := 11; n <= 14; n++ {
		put(t, r, x, service("c1", "s1", n))
		etag(t, x, "c1") // only the etag
		give(t, x, "c1")
	}
	// The lists had 1, 11, 12, 13, 14.
	for n, want := range map[int]bool{14: true, 13: true, 12: true, 11: true, 1: false, 2: true, 99: false} {
		if got := x.MayFetch("c1", digestOf(n)); got != want {
			t.Errorf("digest %d: %v, want %v", n, got, want)
		}
	}
	if x.MayFetch("c2", digestOf(14)) {
		t.Error("another cluster's tarball was promised")
	}
	// A rebuild forgets nothing, and asking again ages nothing.
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	give(t, x, "c1")
	if !x.MayFetch("c1", digestOf(11)) {
		t.Error("a rebuild forgot the lists given out")
	}
}

// A request for the etag alone does not count as a sent list: changes that were
// never fetched do not age the tarballs of sent lists.
func TestChangesThatNobodyFetchedAgeNothing(t *testing.T) {
	r, x := start(t)
	give(t, x, "c1")
	asked := service("c1", "s1", 1)
	asked.SpecDigest = specOf(98)
	put(t, r, x, asked)
	for n := 11; n <= 30; n++ {
		put(t, r, x, service("c1", "s1", n))
		etag(t, x, "c1")
	}
	other := service("c1", "s1", 30)
	other.SpecDigest = specOf(99)
	put(t, r, x, other)
	if !x.MayFetch("c1", digestOf(1)) || !x.MayFetch("c1", digestOf(30)) {
		t.Error("the tarball of the list that the cluster has is not its own any more")
	}
	for n := 31; n <= 33; n++ {
		give(t, x, "c1")
		put(t, r, x, service("c1", "s1", n))
	}
	if give(t, x, "c1"); x.MayFetch("c1", digestOf(1)) {
		t.Error("a tarball of long ago is still the cluster's")
	}
}

func TestRowThatCannotBeReadHarmsNoOther(t *testing.T) {
	r, x := start(t)
	bad := service("c1", "s9", 9)
	bad.Digest = "md5:123"
	put(t, r, x, bad)
	for name, x := range map[string]*desired.Index{"applied": x, "rebuilt": index(t, r)} {
		list, err := x.For("c1")
		if err != nil || len(list.Services) != 2 {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

func TestGateHoldsARowBack(t *testing.T) {
	r, _ := start(t)
	x, err := desired.New(desired.Config{Fleet: r, Feed: r, Gate: func(row fleet.Row) fleet.Row {
		if row.ID == "s1" {
			row.Digest = digestOf(100)
		}
		return row
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := x.For("c1")
	if err != nil || list.Services[0].TarballDigest != digestOf(100) {
		t.Errorf("list %+v, %v", list, err)
	}
}

func TestIdleETagAllocatesNothing(t *testing.T) {
	_, x := start(t)
	etag(t, x, "c1")
	if n := testing.AllocsPerRun(100, func() {
		if _, err := x.ETag("c1"); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestServiceCostsLittleMemory(t *testing.T) {
	r := newRows()
	fill(r, 2_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := index(t, r)
	runtime.GC()
	runtime.ReadMemStats(&after)
	clusters, services := x.Size()
	each := int64(after.HeapAlloc-before.HeapAlloc) / int64(services)
	t.Logf("%d bytes a service, %d services on %d clusters", each, services, clusters)
	// Ids and names are shared with the rows here; about 80 B come on top.
	if each > 320 {
		t.Errorf("%d bytes a service", each)
	}
}

func BenchmarkETag(b *testing.B) {
	r := newRows()
	fill(r, 1_000)
	x, err := desired.New(desired.Config{Fleet: r, Feed: r})
	if err != nil {
		b.Fatal(err)
	}
	if err := x.Rebuild(b.Context()); err != nil {
		b.Fatal(err)
	}
	ids := make([]string, 0, len(r.clusters))
	for id := range r.clusters {
		ids = append(ids, id)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := x.ETag(ids[i%len(ids)]); err != nil {
			b.Fatal(err)
		}
	}
}

// A cluster may poll another replica for hours; a delta that it then requests
// here starts from what that replica last sent.
func TestTarballsThatAnotherReplicaGaveOut(t *testing.T) {
	r, x := start(t)
	put(t, r, x, service("c1", "s1", 11)) // not polled here
	for n, want := range map[int]bool{11: true, 1: true, 99: false} {
		if got := x.MayFetch("c1", digestOf(n)); got != want {
			t.Errorf("digest %d: %v, want %v", n, got, want)
		}
	}
	for n := 12; n <= 40; n++ {
		put(t, r, x, service("c1", "s1", n))
	}
	if x.MayFetch("c1", digestOf(1)) || !x.MayFetch("c1", digestOf(39)) || x.MayFetch("c2", digestOf(39)) {
		t.Error("what was replaced long ago is kept, or what was replaced last is not, or it is another cluster's")
	}
}
