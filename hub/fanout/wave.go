package fanout

import (
	"context"
	"fmt"
	"reflect"
)

// work is one step of one rollout.
type work struct {
	*Engine
	r, before Rollout
	now       int64
	members   map[string]Member
	witnesses witnesses
	changed   []Target
	// only are the clusters to check, nil for all.
	only []string
}

// save stores what the step changed.
func (w *work) save(ctx context.Context) error {
	if err := w.targets.PutRolloutTargets(ctx, w.changed); err != nil {
		return err
	}
	if reflect.DeepEqual(w.r, w.before) {
		return nil
	}
	w.r.UpdatedAt = w.now
	if err := w.rollouts.UpdateRollout(ctx, w.r); err != nil {
		return err
	}
	if w.r.Phase == w.before.Phase && w.r.Wave == w.before.Wave {
		return nil
	}
	kind, message := "rollout.wave_began", fmt.Sprintf("%s: wave %d of %d", w.r.Version, w.r.Wave+1, len(w.r.Plan.Waves))
	switch w.r.Phase {
	case Stopped:
		kind, message = "rollout.stopped", w.r.Version+": "+w.r.Message
	case Done:
		kind, message = "rollout.done", w.r.Version
	case Aborted:
		kind, message = "rollout.aborted", "back at "+w.r.Previous
	}
	return record(ctx, w.r, kind, "hub", message)
}

func (w *work) step(ctx context.Context, targets []Target) (more bool, err error) {
	if w.r.Phase == Aborting {
		return w.revert(ctx, targets)
	}
	members, err := w.subject.Members(ctx, w.only)
	if err != nil {
		return false, err
	}
	w.members = make(map[string]Member, len(members))
	for _, m := range members {
		w.members[m.ClusterID] = m
	}
	if err := w.enlist(ctx, w.r, members, orEmpty(targets)); err != nil {
		return false, err
	}
	if targets, err = w.targets.RolloutTargets(ctx, w.r.ID, w.only); err != nil {
		return false, err
	}
	if err := w.judge(ctx, targets); err != nil {
		return false, err
	}
	if w.r.Phase == Paused || w.r.Phase == Stopped {
		return false, nil
	}
	if w.r.Phase != Done && w.tooManyFailed(targets) {
		return false, nil
	}
	if kept, err := w.keep(ctx, targets); err != nil || kept {
		return kept, err
	}
	placed, err := w.place(ctx, targets)
	if err != nil || placed {
		return placed, err
	}
	if w.r.Phase == Done || !w.soaked(targets) {
		return false, nil
	}
	if w.r.Wave++; w.r.Wave < len(w.r.Plan.Waves) {
		w.r.WaveAt = w.now
		return true, nil
	}
	w.r.Wave = len(w.r.Plan.Waves) - 1
	if w.r.Message == "" || !w.waiting(targets) {
		w.r.Phase, w.r.Message = Done, ""
	} else {
		w.r.Phase = Stopped
	}
	return false, nil
}

func orEmpty(targets []Target) []Target {
	if targets == nil {
		return []Target{}
	}
	return targets
}

// judge records the state of the placed clusters.
func (w *work) judge(ctx context.Context, targets []Target) error {
	var ids []string
	for _, t := range targets {
		switch t.State {
		case Placed, Good, Failed, Absent:
			ids = append(ids, t.ClusterID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	verdicts, err := w.subject.Judge(ctx, w.r.Version, ids)
	if err != nil {
		return err
	}
	for i, t := range targets {
		v, judged := verdicts[t.ClusterID]
		if !judged {
			continue
		}
		now := w.judged(t, v)
		if now != t {
			targets[i] = now
			w.changed = append(w.changed, now)
		}
	}
	return nil
}

// judged returns a target after a verdict.
func (w *work) judged(t Target, v Verdict) Target {
	late := w.now-t.PlacedAt > w.r.Plan.FailAfter.Microseconds()
	switch {
	case t.State == Waiting || t.State == Unchanged || t.State == Reverted:
	case v.Good:
		if t.GoodSince == 0 || t.State != Good {
			t.GoodSince = w.now
		}
		t.State, t.Message, t.Excuse = Good, v.Message, ""
	case v.Failed:
		if t.State == Good {
			t.Relapses++
		}
		t.State, t.GoodSince, t.Message = Failed, 0, v.Message
	case t.State == Absent || t.State == Failed:
	case late && t.State == Placed:
		t.State, t.GoodSince, t.Message = Failed, 0, fmt.Sprintf("not well after %s: %s", w.r.Plan.FailAfter, orUnknown(v.Message))
	case t.State == Good:
		// It was healthy and may no longer be: it starts again, with as much
		// time to recover as at first.
		t.Relapses++
		t.State, t.GoodSince, t.PlacedAt, t.Message = Placed, 0, w.now, v.Message
	default:
		t.Message = v.Message
	}
	return t
}

func orUnknown(message string) string {
	if message == "" {
		return "its agent has not reported"
	}
	return message
}

// keep gives clusters that already run the version that same version as their
// payload, where they have none: nothing changes there, and the hub maintains
// it.
func (w *work) keep(ctx context.Context, targets []Target) (bool, error) {
	var ids []string
	for _, t := range targets {
		if m, ok := w.members[t.ClusterID]; ok && t.State == Unchanged && t.Message == "" && m.Payload != w.r.Payload && len(ids) < chunk {
			ids = append(ids, t.ClusterID)
		}
	}
	if len(ids) == 0 {
		return false, nil
	}
	refused, err := w.subject.Place(ctx, ids, w.r.Payload)
	if err != nil {
		return false, err
	}
	for _, t := range targets {
		if reason := refused[t.ClusterID]; reason != "" && t.State == Unchanged {
			t.Message = reason
			w.changed = append(w.changed, t)
		}
	}
	return true, nil
}

// place gives the next clusters of the current waves the version, and reports
// whether there were any.
func (w *work) place(ctx context.Context, targets []Target) (bool, error) {
	var waiting []int
	size, moving := 0, 0
	for i, t := range targets {
		if t.Wave > w.r.Wave || t.State == Unchanged || w.heldBack(t) {
			continue
		}
		size++
		switch t.State {
		case Waiting:
			waiting = append(waiting, i)
		case Placed:
			moving++
		}
	}
	n := min(len(waiting), chunk, w.r.Plan.room(size)-moving)
	if n <= 0 {
		return false, nil
	}
	if w.r.WaveAt == 0 {
		w.r.WaveAt = w.now
	}
	return true, w.placeOn(ctx, targets, waiting[:n])
}

func (w *work) placeOn(ctx context.Context, targets []Target, which []int) error {
	ids := make([]string, len(which))
	for i, at := range which {
		ids[i] = targets[at].ClusterID
	}
	refused, err := w.subject.Place(ctx, ids, w.r.Payload)
	if err != nil {
		return err
	}
	for _, at := range which {
		t := targets[at]
		t.State, t.PlacedAt = Placed, w.now
		if w.members[t.ClusterID].Failing {
			t.Excuse = Before
		}
		if !w.members[t.ClusterID].Fresh {
			t.State, t.Message = Absent, "its agent does not poll; it gets the version when it comes back"
		}
		if reason := refused[t.ClusterID]; reason != "" {
			t.State, t.Message = Failed, reason
		}
		targets[at] = t
		w.changed = append(w.changed, t)
	}
	return nil
}

// maxRelapses is how often a cluster may be healthy and then no longer before the waves
// go on without it.
const maxRelapses = 3

// soaked reports whether all current waves were healthy for long enough.
func (w *work) soaked(targets []Target) bool {
	for _, t := range targets {
		if t.Wave > w.r.Wave || w.heldBack(t) || t.Relapses >= maxRelapses || !w.witnesses.counts(t) {
			continue
		}
		switch {
		case t.State == Waiting || t.State == Placed:
			return false
		case t.State == Good && w.now-t.GoodSince < w.r.Plan.Soak.Microseconds():
			return false
		}
	}
	return true
}

// revert takes the next clusters back to the previous version.
func (w *work) revert(ctx context.Context, targets []Target) (bool, error) {
	var ids []string
	var which []int
	for i, t := range targets {
		switch t.State {
		case Placed, Good, Failed, Absent:
			if len(ids) < chunk {
				ids, which = append(ids, t.ClusterID), append(which, i)
			}
		}
	}
	if len(ids) == 0 {
		w.r.Phase, w.r.Message = Aborted, ""
		return false, nil
	}
	refused, err := w.subject.Place(ctx, ids, w.r.PreviousPayload)
	if err != nil {
		return false, err
	}
	for _, i := range which {
		t := targets[i]
		t.State, t.GoodSince, t.Message = Reverted, 0, refused[t.ClusterID]
		w.changed = append(w.changed, t)
	}
	return true, nil
}
