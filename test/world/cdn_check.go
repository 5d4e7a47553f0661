package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Invariant names one thing that holds in every run.
type Invariant string

// The invariants.
const (
	FetchesApart       Invariant = "fetches-apart"          // starts are 5 s apart
	FetchesAlone       Invariant = "fetches-alone"          // and never overlap
	OneClone           Invariant = "one-clone"              // of each repository
	BytesMatch         Invariant = "bytes-match"            // of all that an agent takes
	NeverBack          Invariant = "never-back"             // neither lists nor content
	TombstoneDeletes   Invariant = "tombstone-deletes"      // and nothing else does
	HeadsFenced        Invariant = "heads-fenced"           // written by owners, of commits that were
	NobodyIsNeeded     Invariant = "nobody-is-needed"       // to come to rest at what is wanted
	ErrorsStayInTheHub Invariant = "errors-stay-in-the-hub" // where a scenario says so
)

// Invariants are all of them.
var Invariants = []Invariant{
	FetchesApart, FetchesAlone, OneClone, BytesMatch, NeverBack, TombstoneDeletes, HeadsFenced, NobodyIsNeeded, ErrorsStayInTheHub,
}

// Violation is one place where a run broke an invariant.
type Violation struct {
	Invariant Invariant
	Text      string
}

// String is what a failing test prints.
func (v Violation) String() string { return string(v.Invariant) + ": " + v.Text }

const (
	fetchGap = 5 * time.Second
	// frozenOverlap is what a frozen and resumed machine may do once.
	frozenOverlap = 2 * time.Second
)

// Check judges a run by every invariant and returns the violations, nil if all hold.
func Check(r Run) []Violation {
	c := &check{run: r}
	c.upstream()
	for _, a := range r.Agents {
		c.bytes(a)
		c.back(a)
		c.deletes(a)
		c.errors(a)
	}
	c.rows()
	c.heads()
	c.rest()
	return c.found
}

type check struct {
	run   Run
	found []Violation
}

func (c *check) add(i Invariant, format string, args ...any) {
	c.found = append(c.found, Violation{i, fmt.Sprintf(format, args...)})
}

// calls groups the requests of a kind by repository, in order of their start.
func (c *check) calls(kind string) map[string][]Request {
	all := map[string][]Request{}
	for _, r := range slices.SortedFunc(slices.Values(c.run.Requests), func(a, b Request) int { return a.Start.Compare(b.Start) }) {
		if r.Kind != kind {
			continue
		}
		if r.End.IsZero() {
			r.End = c.run.Ended
		}
		all[r.Repo] = append(all[r.Repo], r)
	}
	return all
}

// upstream judges the requests that the Git server saw.
func (c *check) upstream() {
	excused := !c.run.Allow.FrozenMachine
	for _, kind := range []string{"fetch", "ls-refs"} {
		for repo, calls := range c.calls(kind) {
			for i := 1; i < len(calls); i++ {
				last, this := calls[i-1], calls[i]
				overlap, apart := last.End.Sub(this.Start), this.Start.Sub(last.Start)
				if (overlap > 0 || apart < fetchGap) && !excused && overlap <= frozenOverlap {
					excused = true // once
					continue
				}
				if overlap > 0 {
					c.add(FetchesAlone, "%s: a %s at %s began while the one of %s ran, %v before it ended", repo, kind, at(this.Start), at(last.Start), overlap)
				}
				if apart < fetchGap {
					c.add(FetchesApart, "%s: a %s at %s began %v after the one before", repo, kind, at(this.Start), apart)
				}
			}
		}
	}
	for repo, calls := range c.calls("fetch") {
		clones := 0
		for _, one := range calls {
			if one.Haves == 0 {
				clones++
			}
		}
		if most := 1 + c.run.Allow.Clones[repo]; clones > most {
			c.add(OneClone, "%s was cloned %d times, at most %d were allowed", repo, clones, most)
		}
	}
}

// bytes judges the downloads of an agent.
func (c *check) bytes(a AgentRun) {
	for _, s := range a.Steps {
		if s.Kind == StepApplied && (s.Computed == "" || s.Computed != s.Promised) {
			c.add(BytesMatch, "%s took content of %s at %s whose digest is %s; the list promised %s", a.Cluster, s.Service, at(s.At), s.Computed, s.Promised)
		}
	}
}

// back judges the order of an agent's steps: lists by their position in the feed,
// services by the hub's count and by the version in the files.
func (c *check) back(a AgentRun) {
	order := map[string]int{}
	for i, id := range c.run.Store.Incarnations {
		order[id] = i
	}
	var list *Step
	applied := map[string]Step{}
	deleted := map[string]bool{}
	for i := range a.Steps {
		s := a.Steps[i]
		switch s.Kind {
		case StepList:
			if list != nil && (order[s.Incarnation] < order[list.Incarnation] || s.Incarnation == list.Incarnation && s.Sequence < list.Sequence) {
				c.add(NeverBack, "%s took the list of %s.%d at %s after that of %s.%d", a.Cluster, s.Incarnation, s.Sequence, at(s.At), list.Incarnation, list.Sequence)
			}
			list = &s
		case StepApplied:
			last, ok := applied[s.Service]
			same := s.Incarnation == last.Incarnation
			if ok && same && s.Revision < last.Revision {
				c.add(NeverBack, "%s/%s went from revision %d to %d at %s", a.Cluster, s.Service, last.Revision, s.Revision, at(s.At))
			}
			if ok && s.Version < last.Version {
				c.add(NeverBack, "%s/%s went from version %d to %d at %s", a.Cluster, s.Service, last.Version, s.Version, at(s.At))
			}
			if deleted[s.Service] && s.At.Before(c.run.Confirmed) {
				c.add(NeverBack, "%s/%s was removed and came back at %s, before anybody confirmed the restore", a.Cluster, s.Service, at(s.At))
			}
			applied[s.Service] = s
		case StepDeleted:
			deleted[s.Service] = true
		}
	}
}

// deletes judges what an agent removed.
func (c *check) deletes(a AgentRun) {
	for _, s := range a.Steps {
		if s.Kind != StepDeleted {
			continue
		}
		name := a.Cluster + "/" + s.Service
		switch {
		case s.Tombstone == "":
			c.add(TombstoneDeletes, "%s was removed at %s without a tombstone", name, at(s.At))
		case !slices.Contains(c.run.Deleted, name):
			c.add(TombstoneDeletes, "%s was removed at %s by tombstone %s, but nobody deleted it", name, at(s.At), s.Tombstone)
		}
	}
}

func (c *check) errors(a AgentRun) {
	if !c.run.Allow.NoErrors {
		return
	}
	for _, s := range a.Steps {
		if s.Kind == StepError || s.Kind == StepRefused {
			c.add(ErrorsStayInTheHub, "%s at %s: %s", a.Cluster, at(s.At), s.Error)
		}
	}
}

// rows judges that the store lost no service.
func (c *check) rows() {
	stored := map[string]bool{}
	for _, s := range c.run.Store.Services {
		stored[s.Name] = true
		if s.Tombstone != "" && !slices.Contains(c.run.Deleted, s.Name) {
			c.add(TombstoneDeletes, "the store has tombstone %s for %s, but nobody deleted it", s.Tombstone, s.Name)
		}
	}
	for _, name := range c.run.Declared {
		if !stored[name] && !slices.Contains(c.run.Deleted, name) && !slices.Contains(c.run.Allow.Lost, name) {
			c.add(TombstoneDeletes, "the row of %s is gone, but nobody deleted it", name)
		}
	}
	for _, name := range c.run.Store.DeletedEvents {
		if !slices.Contains(c.run.Deleted, name) {
			c.add(TombstoneDeletes, "an event says that %s was deleted, but nobody did", name)
		}
	}
}

// heads judges that each head was written under an epoch that its repository's
// lease had, and names a commit that upstream had.
func (c *check) heads() {
	epochs := map[string]int64{}
	for _, l := range c.run.Store.Leases {
		epochs[l.Repo] = l.Epoch
	}
	for _, h := range c.run.Store.Heads {
		if h.Epoch > epochs[h.Repo] {
			c.add(HeadsFenced, "the head of %s %s %s has epoch %d, its lease only %d", h.Repo, h.Ref, h.Folder, h.Epoch, epochs[h.Repo])
		}
		if commits, ok := c.run.Commits[h.Repo]; ok && h.Revision != "" && !slices.Contains(commits, h.Revision) {
			c.add(HeadsFenced, "the head of %s %s %s is %s, which upstream never had", h.Repo, h.Ref, h.Folder, h.Revision)
		}
	}
}

// rest judges that everything came to rest where it should, by itself.
func (c *check) rest() {
	human := slices.Clone(c.run.Human)
	if c.run.Allow.Restored && len(human) > 0 && human[0] == "confirm-restore" {
		human = human[1:]
	}
	if len(human) > 0 {
		c.add(NobodyIsNeeded, "a person had to %s", strings.Join(human, ", then "))
	}
	stored := map[string]StoredService{}
	for _, s := range c.run.Store.Services {
		stored[s.Name] = s
	}
	for _, w := range c.run.Want {
		last := c.last(w.Service)
		row := stored[w.Service]
		switch {
		case w.Version == 0 && last.Kind == "":
		case last.Version != w.Version:
			c.add(NobodyIsNeeded, "%s ends at version %d, wanted %d", w.Service, last.Version, w.Version)
		case row.Digest != last.Computed:
			c.add(NobodyIsNeeded, "%s ends with %s at the agent and %s in the store", w.Service, cmp.Or(last.Computed, "nothing"), row.Digest)
		case row.Sync != "Synced" || row.Applied != row.Digest:
			c.add(NobodyIsNeeded, "%s ends as %s with %s reported", w.Service, cmp.Or(row.Sync, "never reported"), cmp.Or(row.Applied, "nothing"))
		}
	}
}

// last is the last step of content of a service.
func (c *check) last(service string) (last Step) {
	cluster, name, _ := strings.Cut(service, "/")
	for _, a := range c.run.Agents {
		if a.Cluster != cluster {
			continue
		}
		for _, s := range a.Steps {
			if s.Service == name && (s.Kind == StepApplied || s.Kind == StepDeleted) {
				last = s
			}
		}
	}
	return last
}

func at(t time.Time) string { return t.Format("15:04:05.000") }
