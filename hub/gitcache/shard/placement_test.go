package shard_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/peer"
)

// hub is a set of replicas and repositories that a plan is carried out on, as
// if every call worked at once.
type hub struct {
	t     *testing.T
	known []peer.Replica
	rows  []shard.Placement
	moves int
}

func newHub(t *testing.T, replicas, repos int) *hub {
	h := &hub{t: t}
	for i := range replicas {
		h.join(fmt.Sprintf("hub-%d", i))
	}
	for i := range repos {
		h.rows = append(h.rows, shard.Placement{RepositoryID: fmt.Sprintf("repo-%03d", i), Bytes: int64(i%7) << 20, MovedAgo: time.Hour, FreeFor: time.Second})
	}
	return h
}

func (h *hub) join(name string) {
	h.known = append(h.known, peer.Replica{Name: name, Alive: true, Present: true})
}

func (h *hub) replica(name string) *peer.Replica {
	for i := range h.known {
		if h.known[i].Name == name {
			return &h.known[i]
		}
	}
	h.t.Fatalf("no replica %s", name)
	return nil
}

// round makes one plan and carries it out; the time between two rounds is that
// between two moves.
func (h *hub) round() int {
	changes := shard.Plan(h.known, h.rows)
	moving := 0
	for _, a := range changes {
		for i := range h.rows {
			r := &h.rows[i]
			if r.RepositoryID != a.RepositoryID {
				continue
			}
			if a.Move {
				moving++
				h.moves++
			}
			r.Preferred, r.Follower = a.Preferred, a.Follower
		}
	}
	if moving > shard.MaxMoving {
		h.t.Fatalf("%d moves in one round", moving)
	}
	for i := range h.rows {
		r := &h.rows[i]
		if r.Preferred != "" && h.replica(r.Preferred).Alive {
			r.Owner, r.Held, r.FreeFor = r.Preferred, true, 0
		}
	}
	return len(changes)
}

func (h *hub) rest() {
	h.t.Helper()
	for range 10 * len(h.rows) {
		if h.round() == 0 {
			return
		}
	}
	h.t.Fatal("the plan does not come to rest")
}

func (h *hub) carries() map[string]int {
	out := map[string]int{}
	for _, r := range h.rows {
		out[r.Owner]++
		if r.Follower == r.Owner || (r.Follower == "" && len(h.known) > 1) {
			h.t.Errorf("%s is owned by %q and followed by %q", r.RepositoryID, r.Owner, r.Follower)
		}
	}
	return out
}

func (h *hub) placed() map[string]string {
	out := map[string]string{}
	for _, r := range h.rows {
		out[r.RepositoryID] = r.Preferred
	}
	return out
}

func TestLoadIsSpreadWithinTheFactor(t *testing.T) {
	h := newHub(t, 4, 200)
	h.rest()
	if h.moves != 0 {
		t.Errorf("%d moves to place what was nowhere", h.moves)
	}
	for name, n := range h.carries() {
		if n > 200/4*5/4+2 {
			t.Errorf("%s carries %d of 200", name, n)
		}
	}
	// A repository that is larger than all others together is placed too.
	h.rows[0].Bytes = 1 << 40
	h.rest()
}

func TestReplicaThatJoinsGetsItsShareOneByOne(t *testing.T) {
	h := newHub(t, 2, 60)
	h.rest()
	before := h.placed()
	h.join("hub-2")
	h.rest()
	n := h.carries()["hub-2"]
	if n < 12 || n > 28 {
		t.Errorf("the new replica carries %d of 60", n)
	}
	for id, was := range before {
		if is := h.placed()[id]; is != was && is != "hub-2" {
			t.Errorf("%s went from %s to %s", id, was, is)
		}
	}
	if h.moves != n {
		t.Errorf("%d moves for %d repositories", h.moves, n)
	}
}

// A replica that stops in order is waited for; one that crashed is not, and its
// repositories stay with their followers until it is back.
func TestOnlyAReplicaThatStaysAwayIsReplaced(t *testing.T) {
	h := newHub(t, 3, 30)
	h.rest()
	before := h.placed()
	h.replica("hub-1").Alive = false // it drains: present, not alive
	for range 20 {
		h.round()
	}
	if !maps.Equal(before, h.placed()) {
		t.Error("a replica that only restarts lost repositories")
	}
	h.replica("hub-1").Present = false
	for i := range h.rows {
		if h.rows[i].Owner == "hub-1" {
			h.rows[i].Held = false
		}
	}
	followers := map[string]string{}
	for _, r := range h.rows {
		followers[r.RepositoryID] = r.Follower
	}
	h.round()
	for _, r := range h.rows {
		if before[r.RepositoryID] == "hub-1" && r.Owner != followers[r.RepositoryID] {
			t.Errorf("%s went to %s, not to its follower %s", r.RepositoryID, r.Owner, followers[r.RepositoryID])
		}
	}
	h.replica("hub-1").Alive, h.replica("hub-1").Present = true, true
	h.rest()
	if !maps.Equal(before, h.placed()) {
		t.Error("what the replica had did not come home")
	}
}

func TestLeavingReplicaIsEmptiedTwoAtATime(t *testing.T) {
	h := newHub(t, 3, 30)
	h.rest()
	had := h.carries()["hub-1"]
	h.replica("hub-1").Leaving = true
	// Its moves do not wait for the pause between others.
	for i := range h.rows {
		h.rows[i].MovedAgo = 0
	}
	rounds := 0
	for ; h.carries()["hub-1"] > 0 && rounds < 100; rounds++ {
		h.round()
	}
	if rounds > had/shard.MaxMoving+1 {
		t.Errorf("%d rounds for %d repositories", rounds, had)
	}
}

func TestMovesPause(t *testing.T) {
	h := newHub(t, 2, 20)
	h.rest()
	h.join("hub-2")
	moves := func(change func(r *shard.Placement)) int {
		rows := slices.Clone(h.rows)
		change(&rows[0])
		n := 0
		for _, a := range shard.Plan(h.known, rows) {
			if a.Move {
				n++
			}
		}
		return n
	}
	for name, tc := range map[string]struct {
		change func(r *shard.Placement)
		want   int
	}{
		"quiet":            {func(*shard.Placement) {}, 1},
		"one moved lately": {func(r *shard.Placement) { r.MovedAgo = shard.MoveEvery - time.Second }, 0},
		"one is under way": {func(r *shard.Placement) { r.Owner = map[string]string{"hub-0": "hub-1", "hub-1": "hub-0"}[r.Preferred] }, 0},
	} {
		if got := moves(tc.change); got != tc.want {
			t.Errorf("%s: %d moves, want %d", name, got, tc.want)
		}
	}
}

func TestMayTakeALease(t *testing.T) {
	known := []peer.Replica{{Name: "a", Alive: true, Present: true}, {Name: "b", Alive: true, Present: true}, {Name: "c", Present: true}, {Name: "gone"}}
	first := shard.Rank("r", []string{"a", "b"})[0]
	second := map[string]string{"a": "b", "b": "a"}[first]
	long := time.Minute
	for name, tc := range map[string]struct {
		self string
		row  shard.Placement
		want bool
	}{
		"its own":                       {"a", shard.Placement{Preferred: "a"}, true},
		"held by another":               {"a", shard.Placement{Preferred: "a", Owner: "b", Held: true}, false},
		"another's that is there":       {"a", shard.Placement{Preferred: "b", Follower: "a", FreeFor: long}, false},
		"another's that may be back":    {"a", shard.Placement{Preferred: "c", Follower: "a", FreeFor: long}, false},
		"a dead one's, as its follower": {"a", shard.Placement{Preferred: "gone", Follower: "a"}, true},
		"a dead one's, with a follower": {"a", shard.Placement{Preferred: "gone", Follower: "b", FreeFor: 10 * time.Second}, false},
		"a dead one's, long after":      {"a", shard.Placement{Preferred: "gone", Follower: "b", FreeFor: long}, true},
		"a dead one's, follower dead":   {"a", shard.Placement{Preferred: "gone", Follower: "gone", FreeFor: 20 * time.Second}, true},
		"new, as the first choice":      {first, shard.Placement{}, true},
		"new, as another":               {second, shard.Placement{FreeFor: time.Second}, false},
		"new, left lying":               {second, shard.Placement{FreeFor: long}, true},
	} {
		tc.row.RepositoryID = "r"
		if got := shard.May(tc.self, known, tc.row); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRankIsStable(t *testing.T) {
	names := []string{"hub-0", "hub-1", "hub-2", "hub-3"}
	firsts := map[string]int{}
	for i := range 1000 {
		id := fmt.Sprintf("repo-%d", i)
		ranked := shard.Rank(id, names)
		firsts[ranked[0]]++
		without := shard.Rank(id, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == ranked[3] }))
		if !slices.Equal(without, ranked[:3]) {
			t.Fatalf("%s: %v, and without the last %v", id, ranked, without)
		}
	}
	for name, n := range firsts {
		if n < 180 || n > 320 {
			t.Errorf("%s is first for %d of 1000", name, n)
		}
	}
}

// Commits change the sizes of mirrors all the time. Those of small ones move nothing,
// even where a replica is as full as it may be.
func TestSmallMirrorsThatGrowMoveNothing(t *testing.T) {
	h := newHub(t, 3, 6)
	h.rest()
	before := h.placed()
	for grown := range int64(15) {
		for i := range h.rows {
			h.rows[i].Bytes = (grown + int64(i)) % 15 << 20
		}
		h.round()
	}
	if after := h.placed(); !maps.Equal(before, after) {
		t.Errorf("placed on %v, and after some commits on %v", before, after)
	}
}

// Replicas that restart one after the other, as in an upgrade, are no time to balance.
func TestNothingIsBalancedWhileAReplicaRestarts(t *testing.T) {
	h := newHub(t, 3, 30)
	h.rest()
	h.join("hub-3")
	h.replica("hub-1").Alive = false
	h.moves = 0
	for range 5 {
		h.round()
	}
	if h.moves != 0 {
		t.Errorf("%d repositories moved while hub-1 was away", h.moves)
	}
	h.replica("hub-1").Alive = true
	h.rest()
	if h.moves == 0 {
		t.Error("nothing moved after it was back")
	}
}
