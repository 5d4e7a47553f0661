package shard

import (
	"cmp"
	"hash/fnv"
	"math/bits"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/peer"
)

// The constants of placement.
const (
	// LoadFactor is how much more load than the mean one replica may have,
	// unless that is less than the mean and one repository.
	LoadFactor = 1.25
	// MoveEvery is the minimum time between two moves of repositories whose
	// owner is healthy.
	MoveEvery = 10 * time.Second
	// MaxMoving is how many moves, and so copies of mirrors, may run at a time.
	MaxMoving = 2
	// Patience is how long a repository whose owner is gone waits for its
	// follower, which is gone too, before any replica takes it.
	Patience = 10 * time.Second

	// baseWeight is the load of a repository beside its bytes: polls, heads,
	// tarballs. It also spreads many small ones evenly.
	baseWeight = 64 << 20
	// smallBytes is the size below which mirrors weigh the same: many small ones are on
	// the edge of what fits, and each commit changes their bytes.
	smallBytes = 16 << 20
)

// Placement says which replica owns a repository, and which should.
type Placement struct {
	RepositoryID string
	// Bytes is the size of its mirror.
	Bytes int64

	// Owner holds the lease, or held it last; empty when it was released.
	Owner    string
	OwnerURL string
	// Held is set while the lease has not expired.
	Held       bool
	Epoch      int64
	AcquiredAt time.Time
	// FreeFor is how long the lease has been free since it expired, or since
	// the repository was created; zero while it is held.
	FreeFor time.Duration

	// Preferred should own it, and Follower keeps a second copy. Empty until
	// decided.
	Preferred, Follower string
	// MovedAgo is how long ago Preferred last changed although its owner was
	// healthy, by the database's clock like every time here.
	MovedAgo time.Duration
	// FollowedAt is when the follower last had everything that the owner had.
	FollowedAt time.Time
	// FetchStartedAt is the last start of a fetch.
	FetchStartedAt time.Time
	// Age is how long the lease has been held.
	Age time.Duration
}

// Assignment changes which replica should own a repository and which follows
// it.
type Assignment struct {
	RepositoryID        string
	Preferred, Follower string
	// Move is set when a healthy owner is to give it up.
	Move bool
}

// weight returns the load of a repository: its bytes rounded to powers of two,
// so that a mirror that grows a little moves nothing.
func (p Placement) weight() int64 {
	if p.Bytes < smallBytes {
		return baseWeight
	}
	return baseWeight + int64(1)<<bits.Len64(uint64(max(p.Bytes, 1)))
}

// score orders replicas for a repository. The order is the same in every
// process, and a replica that joins or leaves does not change the order of the
// others.
func score(repositoryID, replica string) uint64 {
	h := fnv.New64a()
	// A hash never fails.
	_, _ = h.Write([]byte(repositoryID))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(replica))
	// The sum alone is too regular in its high bits.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Rank returns the names in the order in which they should own a repository.
func Rank(repositoryID string, names []string) []string {
	out := slices.Clone(names)
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(score(repositoryID, b), score(repositoryID, a)), cmp.Compare(a, b))
	})
	return out
}

// Candidates returns the replicas that repositories may be placed on: those
// that are alive, or may be back in a moment, and that were not drained.
func Candidates(known []peer.Replica) []string {
	var names []string
	for _, r := range known {
		if r.Present && !r.Leaving {
			names = append(names, r.Name)
		}
	}
	return names
}

// Plan returns the changes to make. Repositories without a healthy owner are
// placed at once. Of the others at most one moves, and none while two moves are
// running, the last was less than 10 s ago, or a replica is away that may be back in a
// moment, as in an upgrade. A drained replica is the
// exception: it is emptied two at a time without that pause.
func Plan(known []peer.Replica, rows []Placement) []Assignment {
	p := newPlanner(known, rows)
	if len(p.names) == 0 {
		return nil
	}
	var out []Assignment
	for _, row := range p.rows {
		if a, ok := p.settle(row); ok {
			out = append(out, a)
		}
	}
	return append(out, p.moves()...)
}

// planner is one round of planning.
type planner struct {
	names   []string // candidates
	here    map[string]bool
	leaving map[string]bool
	// restarts is set while a candidate is away that may be back in a moment.
	restarts bool
	rows     []Placement
	load     map[string]int64
	limit    int64
}

func newPlanner(known []peer.Replica, rows []Placement) *planner {
	p := &planner{names: Candidates(known), here: map[string]bool{}, leaving: map[string]bool{}, load: map[string]int64{}, rows: slices.Clone(rows)}
	for _, name := range p.names {
		p.here[name] = true
	}
	for _, r := range known {
		if r.Leaving && r.Alive {
			p.leaving[r.Name] = true
		}
		p.restarts = p.restarts || r.Present && !r.Leaving && !r.Alive
	}
	// The heaviest come first, so that small ones fill the gaps.
	slices.SortFunc(p.rows, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.RepositoryID, b.RepositoryID))
	})
	var total, largest int64
	for _, r := range p.rows {
		total += r.weight()
		largest = max(largest, r.weight())
		if p.here[r.Preferred] {
			p.load[r.Preferred] += r.weight()
		}
	}
	if n := int64(len(p.names)); n > 0 {
		// One repository above the mean always fits, because otherwise a few
		// large ones would fit nowhere.
		p.limit = max(int64(LoadFactor*float64(total)/float64(n)), total/n+largest)
	}
	return p
}

// fits reports whether a replica has capacity for a repository too.
func (p *planner) fits(name string, row Placement) bool {
	return p.load[name]+row.weight() <= p.limit
}

// best returns the first replica in a repository's order that has capacity.
func (p *planner) best(row Placement) string {
	ranked := Rank(row.RepositoryID, p.names)
	for _, name := range ranked {
		if p.fits(name, row) {
			return name
		}
	}
	return ranked[0]
}

// second returns the replica that should follow.
func (p *planner) second(row Placement, owner string) string {
	if row.Follower != owner && p.here[row.Follower] && row.Preferred == owner {
		return row.Follower // it has a copy
	}
	for _, name := range Rank(row.RepositoryID, p.names) {
		if name != owner {
			return name
		}
	}
	return ""
}

// settle decides about a repository without a healthy chosen replica, and about
// followers that are gone.
func (p *planner) settle(row Placement) (Assignment, bool) {
	to := row.Preferred
	if !p.here[to] && !(p.leaving[to] && row.Held && row.Owner == to) {
		switch {
		case row.Held && p.here[row.Owner]:
			to = row.Owner // the replica that took it over keeps it for now
		case p.here[row.Follower]:
			to = row.Follower // it has a copy
		default:
			to = p.best(row)
		}
		p.load[to] += row.weight()
	}
	follower := p.second(row, to)
	if to == row.Preferred && follower == row.Follower {
		return Assignment{}, false
	}
	return Assignment{RepositoryID: row.RepositoryID, Preferred: to, Follower: follower}, true
}

// moves selects repositories whose owner is healthy and should change.
func (p *planner) moves() []Assignment {
	moving := 0
	pause := MoveEvery
	for _, r := range p.rows {
		if r.Held && r.Owner != r.Preferred && p.here[r.Preferred] {
			moving++
		}
		pause = min(pause, r.MovedAgo)
	}
	var out []Assignment
	for _, r := range p.rows {
		if moving >= MaxMoving {
			break
		}
		if p.leaving[r.Preferred] && r.Held && r.Owner == r.Preferred {
			out = append(out, p.move(r, p.refuge(r)))
			moving++
		}
	}
	if moving > 0 || pause < MoveEvery || p.restarts {
		return out
	}
	// Those that can return to their first choice come first; they may free
	// capacity.
	for _, where := range []func(Placement) string{p.home, p.relief} {
		for _, r := range p.rows {
			if !p.here[r.Preferred] || !r.Held || r.Owner != r.Preferred {
				continue
			}
			if to := where(r); to != "" {
				return append(out, p.move(r, to))
			}
		}
	}
	return out
}

// refuge returns where a repository of a drained replica goes: to its follower,
// which has a copy, unless that is full.
func (p *planner) refuge(row Placement) string {
	if p.here[row.Follower] && p.fits(row.Follower, row) {
		return row.Follower
	}
	return p.best(row)
}

// home returns a repository's first choice when it is elsewhere and its first
// choice has capacity.
func (p *planner) home(row Placement) string {
	if first := Rank(row.RepositoryID, p.names)[0]; first != row.Preferred && p.fits(first, row) {
		return first
	}
	return ""
}

// relief returns where a repository of an overloaded replica may go. Nothing
// else moves one, so that plans never go in circles.
func (p *planner) relief(row Placement) string {
	if p.load[row.Preferred] <= p.limit {
		return ""
	}
	if to := p.best(row); to != row.Preferred && p.fits(to, row) {
		return to
	}
	return ""
}

func (p *planner) move(row Placement, to string) Assignment {
	if p.here[row.Preferred] {
		p.load[row.Preferred] -= row.weight()
	}
	p.load[to] += row.weight()
	// The replica that gives it up has a copy, so it becomes the follower.
	follower := row.Preferred
	if !p.here[follower] {
		follower = p.second(Placement{RepositoryID: row.RepositoryID}, to)
	}
	return Assignment{RepositoryID: row.RepositoryID, Preferred: to, Follower: follower, Move: true}
}

// May reports whether a replica may try to acquire a repository's free lease.
// Only the lease decides; this keeps replicas from racing for repositories that
// are not theirs.
func May(self string, known []peer.Replica, row Placement) bool {
	if row.Held && row.Owner != self {
		return false
	}
	var names []string
	present := map[string]bool{}
	for _, r := range known {
		present[r.Name] = r.Present
		if r.Alive && !r.Leaving {
			names = append(names, r.Name)
		}
	}
	switch {
	case row.Preferred == self:
		return true
	case present[row.Preferred]:
		return false
	case row.Preferred != "" && row.Follower == self:
		return true
	case row.Preferred != "" && present[row.Follower]:
		return row.FreeFor > peer.TakeOverGrace+3*Patience
	case row.Preferred == "" && len(names) > 0 && Rank(row.RepositoryID, names)[0] == self:
		return true
	}
	return row.FreeFor > peer.TakeOverGrace+Patience
}
