package fanout

import (
	"fmt"
	"slices"
	"strings"
)

// witnesses are the failures of a rollout by project. What a cluster reports is in the
// hands of who runs it, so one project cannot stop what is for others: its failures
// count as far as those of other projects confirm them.
type witnesses struct {
	// well is set when some cluster of the rollout is.
	well bool
	// failed are the failures that count and of the clusters, by project, in the waves so
	// far; size is how many clusters the current wave has.
	failed, of map[string]int
	size       int
	// projects are those with clusters in the rollout, in any wave.
	projects map[string]bool
}

// counts reports whether a failure of a target counts.
func (s witnesses) counts(t Target) bool { return t.Excuse == "" || t.Excuse == Before && !s.well }

// witness adds up the failures of the waves so far. Those of earlier waves count too,
// because those clusters were healthy when their wave ended.
func (w *work) witness(targets []Target) {
	s := witnesses{failed: map[string]int{}, of: map[string]int{}, projects: map[string]bool{}}
	s.well = slices.ContainsFunc(targets, func(t Target) bool { return t.State == Good })
	for _, t := range targets {
		project := w.members[t.ClusterID].ProjectID
		s.projects[project] = true
		if t.State == Unchanged || t.Wave > w.r.Wave {
			continue
		}
		s.of[project]++
		if t.State == Failed && s.counts(t) {
			s.failed[project]++
		}
		if t.Wave == w.r.Wave {
			s.size++
		}
	}
	w.witnesses = s
}

// failures returns how many failed, and how many of them count: of one project at most as
// many as of all others together, unless the rollout is for one project only.
func (s witnesses) failures() (all, counted int) {
	most := 0
	for _, n := range s.failed {
		all, most = all+n, max(most, n)
	}
	if len(s.projects) < 2 {
		return all, all
	}
	return all, min(all, 2*(all-most))
}

// tooManyFailed stops the rollout if too many clusters failed. If they are of one project
// of several, only that project's other clusters are held back, and the message says so.
func (w *work) tooManyFailed(targets []Target) bool {
	w.witness(targets)
	w.r.Message = ""
	failed, counted := w.witnesses.failures()
	if of := max(w.witnesses.size, 1); counted*100 > of*w.r.Plan.FailPercent {
		w.r.Phase, w.r.Message = Stopped, fmt.Sprintf("%d of %d clusters of wave %d failed: %s", failed, of, w.r.Wave+1, w.firstFailure(targets, nil))
		return true
	}
	var held []string
	for project, failed := range w.witnesses.failed {
		if w.held(project) {
			held = append(held, fmt.Sprintf("%d of %d clusters of the project %s failed", failed, w.witnesses.of[project], w.name(project)))
		}
	}
	if len(held) > 0 {
		slices.Sort(held)
		w.r.Message = fmt.Sprintf("%s; its other clusters wait until the rollout is resumed, and the rest goes on: %s", strings.Join(held, ", "), w.firstFailure(targets, w.held))
		w.standIn(targets)
	}
	return false
}

// held reports whether the clusters of a project wait, because too many of them failed.
func (w *work) held(project string) bool {
	return len(w.witnesses.projects) > 1 && w.witnesses.failed[project]*100 > w.witnesses.of[project]*w.r.Plan.FailPercent
}

// heldBack reports whether a target waits for its project.
func (w *work) heldBack(t Target) bool {
	return t.State == Waiting && w.held(w.members[t.ClusterID].ProjectID)
}

// waiting reports whether some target still waits.
func (w *work) waiting(targets []Target) bool {
	return slices.ContainsFunc(targets, func(t Target) bool { return t.State == Waiting })
}

// standIn moves a cluster of another project into the current wave, where nothing but
// failures of held projects would speak for the next one.
func (w *work) standIn(targets []Target) {
	next := -1
	for i, t := range targets {
		m := w.members[t.ClusterID]
		if w.held(m.ProjectID) {
			continue
		}
		if t.Wave <= w.r.Wave && (t.State == Waiting || t.State == Placed || t.State == Good) {
			return
		}
		if next < 0 && t.State == Waiting && m.Fresh {
			next = i
		}
	}
	if next >= 0 {
		targets[next].Wave = w.r.Wave
		w.changed = append(w.changed, targets[next])
	}
}

func (w *work) name(project string) string {
	for _, m := range w.members {
		if m.ProjectID == project && m.Project != "" {
			return m.Project
		}
	}
	return project
}

// firstFailure is the message of the first failure that counts, of the projects that in
// selects, or of all if it is nil.
func (w *work) firstFailure(targets []Target, in func(project string) bool) string {
	for _, t := range targets {
		if t.State == Failed && w.witnesses.counts(t) && (in == nil || in(w.members[t.ClusterID].ProjectID)) {
			return t.Message
		}
	}
	return ""
}
