package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// subject is clusters in memory that accept what they are given.
type subject struct {
	clusters []string
	// runs is what a cluster runs, given what it was placed last.
	runs, given map[string]string
	away        map[string]bool
	// project is the project of a cluster, and failing those that fail before anything
	// is placed.
	project  map[string]string
	failing  map[string]bool
	verdicts map[string]fanout.Verdict
	// placed are the sizes of the chunks.
	placed []int
	broken error
	// asked is how many clusters were requested, in all calls together.
	asked int
}

func newSubject(n int) *subject {
	s := &subject{runs: map[string]string{}, given: map[string]string{}, away: map[string]bool{}, project: map[string]string{}, failing: map[string]bool{}, verdicts: map[string]fanout.Verdict{}}
	for i := range n {
		id := fmt.Sprintf("c%04d", i)
		s.clusters = append(s.clusters, id)
		s.runs[id], s.given[id] = "v1", "one"
	}
	return s
}

func (s *subject) Name() string { return "thing" }

func (s *subject) Members(_ context.Context, ids []string) ([]fanout.Member, error) {
	var all []fanout.Member
	for _, id := range s.clusters {
		if ids != nil && !slices.Contains(ids, id) {
			continue
		}
		s.asked++
		all = append(all, fanout.Member{
			ClusterID: id, Name: id, Payload: s.given[id], Fresh: !s.away[id],
			Failing: s.failing[id], ProjectID: s.project[id], Project: s.project[id],
			Runs: func(version string) bool { return s.runs[id] == version },
		})
	}
	return all, nil
}

func (s *subject) Place(_ context.Context, ids []string, payload string) (map[string]string, error) {
	if s.broken != nil {
		return nil, s.broken
	}
	s.placed = append(s.placed, len(ids))
	for _, id := range ids {
		s.given[id] = payload
	}
	return nil, nil
}

func (s *subject) Judge(_ context.Context, _ string, ids []string) (map[string]fanout.Verdict, error) {
	out := map[string]fanout.Verdict{}
	for _, id := range ids {
		v, told := s.verdicts[id]
		if !told && !s.away[id] {
			v.Good = true
		}
		out[id] = v
	}
	return out, nil
}

// has counts the clusters that were given a payload.
func (s *subject) has(payload string) int {
	n := 0
	for _, p := range s.given {
		if p == payload {
			n++
		}
	}
	return n
}

// rolling is an engine over a subject with a clock that a test moves.
type rolling struct {
	*fanout.Engine
	t     *testing.T
	clock *clock.Manual
	subj  *subject
}

func newRolling(t *testing.T, s *storetest.Store, subj *subject) rolling {
	t.Helper()
	now := clock.NewManual(time.Unix(1_700_000_000, 0))
	e, err := fanout.New(fanout.Config{Rollouts: s, Targets: s, Writer: s, Subject: subj, Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	return rolling{e, t, now, subj}
}

func (r rolling) start(plan fanout.Plan) {
	r.t.Helper()
	if _, err := r.Start(r.t.Context(), "ann", fanout.Request{Version: "v2", Payload: "two", Plan: plan}); err != nil {
		r.t.Fatal(err)
	}
}

// hear reports a cluster like the feed.
func (r rolling) hear(clusterID string) {
	r.t.Helper()
	if err := r.Apply(r.t.Context(), []event.Row{{Change: event.Change{Kind: event.KindCluster, Key: clusterID, Cluster: clusterID}}}); err != nil {
		r.t.Fatal(err)
	}
}

// settle takes steps until nothing more can be done now.
func (r rolling) settle() fanout.Rollout {
	r.t.Helper()
	for range 100 {
		more, err := r.Step(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if !more {
			last, _, err := r.Latest(r.t.Context())
			if err != nil {
				r.t.Fatal(err)
			}
			return last
		}
	}
	r.t.Fatal("the engine never comes to rest")
	return fanout.Rollout{}
}

// after moves the clock, then settles: once to see who is well, once after.
func (r rolling) after(d time.Duration) fanout.Rollout {
	r.t.Helper()
	r.settle()
	r.clock.Advance(d)
	return r.settle()
}

func TestRolloutGoesInWaves(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(200)
		r := newRolling(t, d.Open(t), subj)
		r.start(fanout.Plan{Waves: fanout.DefaultWaves})
		var sizes []int
		for range 4 {
			r.settle()
			sizes = append(sizes, subj.has("two"))
			if last := r.after(14 * time.Minute); subj.has("two") != sizes[len(sizes)-1] {
				t.Errorf("wave %d began before the one before it was well for 15 min", last.Wave)
			}
			r.after(2 * time.Minute)
		}
		if diff := cmp.Diff([]int{1, 2, 20, 200}, sizes); diff != "" {
			t.Error("clusters after each wave, -want +got\n", diff)
		}
		if last := r.settle(); last.Phase != fanout.Done {
			t.Errorf("it is %s: %s", last.Phase, last.Message)
		}
	})
}

func TestRolloutStopsWhenMoreThanAFewFail(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(100)
		r := newRolling(t, d.Open(t), subj)
		// The version before, so that there is something to go back to.
		subj.runs["c0099"] = "v1"
		if _, err := r.Start(t.Context(), "ann", fanout.Request{Version: "v1", Payload: "one"}); err != nil {
			t.Fatal(err)
		}
		if last := r.settle(); last.Phase != fanout.Done || len(subj.placed) != 0 {
			t.Fatalf("%s after %v were placed; nothing differs", last.Phase, subj.placed)
		}
		r.clock.Advance(time.Second)
		r.start(fanout.Plan{})
		for i := range 5 {
			subj.verdicts[fmt.Sprintf("c%04d", i)] = fanout.Verdict{}
		}
		if last := r.after(9 * time.Minute); last.Phase != fanout.Progressing {
			t.Errorf("%s after 9 min: %s", last.Phase, last.Message)
		}
		if last := r.after(2 * time.Minute); last.Phase != fanout.Progressing {
			t.Errorf("%s with 5 of 100 failed: %s", last.Phase, last.Message)
		}
		subj.verdicts["c0005"] = fanout.Verdict{Failed: true, Message: "cannot render"}
		last := r.settle()
		if last.Phase != fanout.Stopped {
			t.Fatalf("%s with 6 of 100 failed", last.Phase)
		}
		if _, err := r.Pause(t.Context(), "ann"); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("a stopped rollout was paused: %v", err)
		}
		if _, err := r.Resume(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		if last = r.after(16 * time.Minute); last.Phase != fanout.Done {
			t.Errorf("%s after a person went on: %s", last.Phase, last.Message)
		}
	})
}

func TestRolloutGoesBack(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(1200)
		r := newRolling(t, d.Open(t), subj)
		r.start(fanout.Plan{})
		if _, err := r.Abort(t.Context(), "ann"); !errcode.Is(err, errcode.Conflict) {
			t.Errorf("there is no version before, and yet: %v", err)
		}
		r.after(16 * time.Minute)
		if diff := cmp.Diff([]int{500, 500, 200}, subj.placed); diff != "" {
			t.Error("chunks, -want +got\n", diff)
		}
		for id := range subj.runs {
			subj.runs[id] = "v2"
		}
		r.clock.Advance(time.Second)
		if _, err := r.Start(t.Context(), "ann", fanout.Request{Version: "v3", Payload: "three", Plan: fanout.Plan{Waves: []string{"600", "100%"}}}); err != nil {
			t.Fatal(err)
		}
		r.settle()
		if n := subj.has("three"); n != 600 {
			t.Fatalf("%d have v3", n)
		}
		if _, err := r.Abort(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		if last := r.settle(); last.Phase != fanout.Aborted || subj.has("two") != 1200 {
			t.Errorf("%s, %d are back", last.Phase, subj.has("two"))
		}
	})
}

func TestRolloutTouchesOnlyWhatDiffers(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		subj := newSubject(10)
		subj.runs["c0003"], subj.given["c0003"] = "v2", "two"
		subj.away["c0000"] = true
		r := newRolling(t, d.Open(t), subj)
		r.start(fanout.Plan{Waves: []string{"1", "100%"}, MaxUnavailable: "2"})
		r.settle()
		if subj.given["c0000"] == "two" || subj.given["c0001"] != "two" {
			t.Error("the first wave went to a cluster that does not poll")
		}
		for i := range 10 {
			subj.verdicts[fmt.Sprintf("c%04d", i)] = fanout.Verdict{}
		}
		subj.verdicts["c0001"] = fanout.Verdict{Good: true}
		r.after(16 * time.Minute)
		if n := subj.has("two"); n != 5 {
			t.Errorf("%d have it; 1 before, 1 well, 1 that does not poll and at most 2 under way", n)
		}
		clear(subj.verdicts)
		last := r.after(16 * time.Minute)
		if last.Phase != fanout.Done || subj.has("two") != 10 {
			t.Errorf("%s, %d have it: %s", last.Phase, subj.has("two"), last.Message)
		}
		if slices.Contains(subj.placed, 0) || sum(subj.placed) != 9 {
			t.Errorf("placed %v; the one that ran it already is not to be touched", subj.placed)
		}
		// A cluster that comes later gets it too.
		subj.clusters = append(subj.clusters, "late")
		r.hear("late")
		r.settle()
		if subj.given["late"] != "two" {
			t.Error("a cluster that came later was left out")
		}
		subj.clusters = subj.clusters[1:]
		r.hear("c0000")
		r.settle()
		if _, targets, err := r.Latest(t.Context()); err != nil || slices.ContainsFunc(targets, func(t fanout.Target) bool { return t.ClusterID == "c0000" }) {
			t.Errorf("a cluster that is gone stays a target, %v", err)
		}
	})
}

func sum(all []int) int {
	n := 0
	for _, i := range all {
		n += i
	}
	return n
}

func TestRolloutIsPausedAndGoesOnAfterAKill(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s, subj := d.Open(t), newSubject(20)
		r := newRolling(t, s, subj)
		r.start(fanout.Plan{Waves: []string{"1", "100%"}})
		subj.broken = errors.New("killed")
		if _, err := r.Step(t.Context()); err == nil {
			t.Fatal("the step succeeded")
		}
		subj.broken = nil
		// Another process, as after a kill: what was not placed is placed now.
		again := newRolling(t, s, subj)
		again.settle()
		if subj.has("two") != 1 {
			t.Errorf("%d have it after the restart", subj.has("two"))
		}
		if _, err := again.Pause(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		if last := again.after(time.Hour); last.Phase != fanout.Paused || subj.has("two") != 1 {
			t.Errorf("%s, %d have it", last.Phase, subj.has("two"))
		}
		if _, err := again.Start(t.Context(), "bob", fanout.Request{Version: "v2", Payload: "two"}); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if last, _, err := again.Latest(t.Context()); err != nil || last.Phase != fanout.Paused {
			t.Errorf("the same again made %s, %v", last.Phase, err)
		}
		if _, err := again.Resume(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
		if last := again.after(16 * time.Minute); subj.has("two") != 20 {
			t.Errorf("%s, %d have it", last.Phase, subj.has("two"))
		}
		again.clock.Advance(time.Second)
		if _, err := again.Start(t.Context(), "bob", fanout.Request{Version: "v3", Payload: "three"}); err != nil {
			t.Fatal(err)
		}
		if last := again.settle(); last.Version != "v3" {
			t.Errorf("the newest is %s", last.Version)
		}
	})
}

// A finished rollout costs nothing while no cluster comes; a new cluster is
// given the version, and no other is checked.
func TestRolloutThatIsDoneLooksAtWhatComes(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		subj := newSubject(50)
		r := newRolling(t, s, subj)
		r.start(fanout.Plan{Waves: []string{"100%"}, Soak: time.Minute})
		r.settle()
		if last := r.after(2 * time.Minute); last.Phase != fanout.Done {
			t.Fatalf("phase %s", last.Phase)
		}
		r.settle() // with all that was noted until now
		subj.asked = 0
		for range 10 {
			r.clock.Advance(2 * time.Minute)
			r.settle()
		}
		if subj.asked != 0 {
			t.Errorf("%d clusters were asked for while nothing came", subj.asked)
		}
		subj.clusters = append(subj.clusters, "new")
		subj.runs["new"], subj.given["new"] = "v1", "one"
		r.hear("new")
		r.settle()
		if subj.given["new"] != "two" || subj.asked > 5 {
			t.Errorf("the one that came has %q; %d clusters were asked for", subj.given["new"], subj.asked)
		}
	})
}

func TestPackagesAreKept(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		s := d.Open(t)
		data := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 255}
		for range 2 {
			if err := s.PutPackage(t.Context(), "axle1:aa", data); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Package(t.Context(), "axle1:aa")
		if err != nil || !slices.Equal(got, data) {
			t.Errorf("got %x, %v", got, err)
		}
		if _, err := s.Package(t.Context(), "axle1:bb"); !errcode.Is(err, errcode.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}
