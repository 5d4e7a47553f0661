package fanout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// tenants gives a subject's first clusters to one project each, and the others to
// "platform".
func (s *subject) tenants(firstOf ...string) *subject {
	for i, id := range s.clusters {
		s.project[id] = "platform"
		if i < len(firstOf) {
			s.project[id] = firstOf[i]
		}
	}
	return s
}

func (s *subject) fail(ids ...string) {
	for _, id := range ids {
		s.verdicts[id] = fanout.Verdict{Failed: true, Message: id + ": says no"}
	}
}

// What one tenant's clusters report does not keep a change from the clusters of others.
func TestOneProjectDoesNotStopARolloutForMany(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(100).tenants("guest", "guest", "guest", "guest", "guest", "guest", "guest")
		r := newRolling(t, d.Open(t), subj)
		subj.fail(subj.clusters[0], subj.clusters[1])
		r.start(fanout.Plan{Waves: []string{"1", "10%", "100%"}})
		last := r.settle()
		if subj.given["c0000"] != "two" || last.Phase != fanout.Progressing || subj.has("two") != 2 {
			t.Fatalf("%s (%s): %d have it, want the guest's that fails and one of another project in its place", last.Phase, last.Message, subj.has("two"))
		}
		for _, part := range []string{"1 of 1 clusters of the project guest failed", "c0000: says no", "resumed"} {
			if !strings.Contains(last.Message, part) {
				t.Errorf("%q lacks %q", last.Message, part)
			}
		}
		for range 3 {
			last = r.after(16 * time.Minute)
		}
		if last.Phase != fanout.Stopped || subj.has("two") != 94 {
			t.Errorf("%s (%s), %d have it; want all of the platform, and one of the guest's", last.Phase, last.Message, subj.has("two"))
		}
		// A person accepts it; the guest's others get it too, one more fails, and that is
		// all of its clusters.
		if _, err := r.Resume(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		last = r.after(16 * time.Minute)
		if last.Phase != fanout.Done || subj.has("two") != 100 {
			t.Errorf("%s (%s), %d have it after it was resumed", last.Phase, last.Message, subj.has("two"))
		}
	})
}

// Many failures of one project and a stray one elsewhere are not a broken version, but
// what two projects confirm is.
func TestFailuresCountAsFarAsOtherProjectsConfirmThem(t *testing.T) {
	guests := []string{"guest", "guest", "guest", "guest", "guest", "guest", "guest", "guest", "guest", "guest"}
	for name, c := range map[string]struct {
		waves []string
		fail  []int
		want  fanout.Phase
		has   int
	}{
		"one project and a stray one": {[]string{"100%"}, []int{0, 1, 2, 3, 4, 5, 6, 7, 50}, fanout.Done, 100},
		"two projects":                {[]string{"100%"}, []int{0, 1, 2, 50, 51, 52}, fanout.Stopped, 100},
		"the first of two projects":   {[]string{"1", "100%"}, []int{0, 10}, fanout.Stopped, 2},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
				subj := newSubject(100).tenants(guests...)
				for _, n := range c.fail {
					subj.fail(subj.clusters[n])
				}
				r := newRolling(t, d.Open(t), subj)
				r.start(fanout.Plan{Waves: c.waves})
				if last := r.after(16 * time.Minute); last.Phase != c.want || subj.has("two") != c.has {
					t.Errorf("%s (%s) and %d have it, want %s and %d", last.Phase, last.Message, subj.has("two"), c.want, c.has)
				}
			})
		})
	}
}

// A cluster that failed before proves nothing about the version. It comes last, and no
// wave waits for it.
func TestClustersThatFailedBeforeDoNotCount(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(20)
		for _, id := range subj.clusters[:5] {
			subj.failing[id] = true
		}
		subj.fail(subj.clusters[:5]...)
		r := newRolling(t, d.Open(t), subj)
		r.start(fanout.Plan{Waves: []string{"1", "100%"}})
		if r.settle(); subj.given["c0005"] != "two" {
			t.Error("the first wave is a cluster that failed before")
		}
		r.after(16 * time.Minute)
		if last := r.after(16 * time.Minute); last.Phase != fanout.Done || subj.has("two") != 20 {
			t.Errorf("%s (%s), %d have it", last.Phase, last.Message, subj.has("two"))
		}
	})
}

// If all failed before, there is nothing else to go by.
func TestAVersionThatWorksNowhereStops(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		all := newSubject(20)
		for _, id := range all.clusters {
			all.failing[id] = true
		}
		all.fail(all.clusters...)
		r := newRolling(t, d.Open(t), all)
		r.start(fanout.Plan{Waves: []string{"1", "100%"}})
		if last := r.after(16 * time.Minute); last.Phase != fanout.Stopped || all.has("two") != 1 {
			t.Errorf("%s (%s), %d have a version that works nowhere", last.Phase, last.Message, all.has("two"))
		}
	})
}

// A cluster that is healthy and then not, again and again, holds a wave three times.
func TestAClusterThatChangesItsMindIsNotWaitedForLong(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(4)
		r := newRolling(t, d.Open(t), subj)
		r.start(fanout.Plan{Waves: []string{"1", "100%"}})
		r.settle()
		turns := 0
		for ; turns < 10 && subj.has("two") == 1; turns++ {
			delete(subj.verdicts, "c0000")
			r.after(5 * time.Minute)
			subj.verdicts["c0000"] = fanout.Verdict{}
			r.after(5 * time.Minute)
		}
		if turns == 10 || turns < 3 {
			t.Errorf("the next wave began after %d turns", turns)
		}
	})
}

// The projects take turns, so that names of clusters do not decide whose are first.
func TestTheFirstWavesHaveClustersOfManyProjects(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(40)
		for i, id := range subj.clusters {
			subj.project[id] = fmt.Sprintf("p%d", i/10)
		}
		r := newRolling(t, d.Open(t), subj)
		r.start(fanout.Plan{Waves: []string{"4", "100%"}})
		r.settle()
		for _, id := range []string{"c0000", "c0010", "c0020", "c0030"} {
			if subj.given[id] != "two" {
				t.Errorf("%s is not in the first wave", id)
			}
		}
	})
}
