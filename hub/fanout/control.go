package fanout

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

// Request starts a rollout.
type Request struct {
	Version string
	Payload string
	Plan    Plan
	// Previous is what an abort goes back to; nil is what the last rollout placed.
	Previous *Previous
}

// Previous is a version that the clusters have.
type Previous struct{ Version, Payload string }

// Start begins a rollout of the subject. A running rollout of the same payload
// is returned unchanged; one of another payload is superseded, and the new one
// judges what it placed. Invalid for a plan that cannot work.
func (e *Engine) Start(ctx context.Context, actor string, q Request) (Rollout, error) {
	plan, err := q.Plan.Normal()
	if err != nil {
		return Rollout{}, err
	}
	var made Rollout
	err = e.writer.Write(ctx, func(ctx context.Context) error {
		last, err := e.rollouts.LatestRollout(ctx, e.subject.Name())
		if err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
		by, err := manager(ctx, last)
		if err != nil {
			return err
		}
		if last.Phase.Active() && last.Payload == q.Payload && last.Phase != Aborting {
			made, made.ManagedBy = last, by
			return e.rollouts.UpdateRollout(ctx, made)
		}
		now := e.now()
		made = Rollout{
			ID: newID(), Subject: e.subject.Name(), Version: q.Version, Payload: q.Payload, Plan: plan,
			Phase: Progressing, By: actor, ManagedBy: by, CreatedAt: now, UpdatedAt: now,
		}
		switch last.Phase {
		case Done:
			made.Previous, made.PreviousPayload = last.Version, last.Payload
		case "":
		default:
			made.Previous, made.PreviousPayload = last.Previous, last.PreviousPayload
		}
		if q.Previous != nil {
			made.Previous, made.PreviousPayload = q.Previous.Version, q.Previous.Payload
		}
		if last.Phase.Active() {
			last.Phase, last.Message, last.UpdatedAt = Superseded, "overtaken by "+q.Version, now
			if err := e.rollouts.UpdateRollout(ctx, last); err != nil {
				return err
			}
		}
		if err := e.rollouts.InsertRollout(ctx, made); err != nil {
			return err
		}
		members, err := e.subject.Members(ctx, nil)
		if err != nil {
			return err
		}
		if err := e.enlist(ctx, made, members, nil); err != nil {
			return err
		}
		return record(ctx, made, "rollout.started", actor, fmt.Sprintf("%s in waves of %v", q.Version, plan.Waves))
	})
	e.Wake()
	return made, err
}

// order brings members into the order of the waves. Clusters that do not poll or fail
// already come last, so that the first wave is a real test, and the projects take turns,
// so that no wave has the clusters of one project only because of their names.
func order(moving []Member) {
	slices.SortFunc(moving, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	turn := make(map[string]int, len(moving))
	of := map[string]int{}
	for _, m := range moving {
		turn[m.ClusterID] = of[m.ProjectID]
		of[m.ProjectID]++
	}
	slices.SortStableFunc(moving, func(a, b Member) int {
		return cmp.Or(-compareBool(a.Fresh, b.Fresh), compareBool(a.Failing, b.Failing), cmp.Compare(turn[a.ClusterID], turn[b.ClusterID]))
	})
}

// enlist adds the members that a rollout does not have yet: at its start in
// waves, later ones to the last wave.
func (e *Engine) enlist(ctx context.Context, r Rollout, members []Member, have []Target) error {
	known := make(map[string]bool, len(have))
	for _, t := range have {
		known[t.ClusterID] = true
	}
	var fresh []Target
	var moving []Member
	for _, m := range members {
		switch {
		case known[m.ClusterID]:
			delete(known, m.ClusterID)
		case m.Runs(r.Version):
			fresh = append(fresh, Target{RolloutID: r.ID, ClusterID: m.ClusterID, State: Unchanged})
		default:
			moving = append(moving, m)
		}
	}
	order(moving)
	waves := r.Plan.waveOf(len(moving))
	for i, m := range moving {
		wave := len(r.Plan.Waves) - 1
		if have == nil {
			wave = waves[i]
		}
		fresh = append(fresh, Target{RolloutID: r.ID, ClusterID: m.ClusterID, Wave: wave, State: Waiting})
	}
	if err := e.targets.PutRolloutTargets(ctx, fresh); err != nil || len(known) == 0 {
		return err
	}
	gone := make([]string, 0, len(known))
	for id := range known {
		gone = append(gone, id)
	}
	slices.Sort(gone)
	return e.targets.DeleteRolloutTargets(ctx, r.ID, gone)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Pause stops placing until Resume. Conflict when no rollout is running.
func (e *Engine) Pause(ctx context.Context, by string) (Rollout, error) {
	return e.change(ctx, by, "rollout.paused", func(_ context.Context, r *Rollout) error {
		if r.Phase != Progressing && r.Phase != Paused {
			return errcode.New(errcode.Conflict, "the rollout of %s is %s; only one that progresses can be paused", r.Version, r.Phase)
		}
		r.Phase, r.Message = Paused, "paused by "+by
		return nil
	})
}

// Resume continues after Pause or a stop. The failures so far are accepted.
func (e *Engine) Resume(ctx context.Context, by string) (Rollout, error) {
	return e.change(ctx, by, "rollout.resumed", func(ctx context.Context, r *Rollout) error {
		if r.Phase != Paused && r.Phase != Stopped && r.Phase != Progressing {
			return errcode.New(errcode.Conflict, "the rollout of %s is %s; only one that is paused or stopped can be resumed", r.Version, r.Phase)
		}
		targets, err := e.targets.RolloutTargets(ctx, r.ID, nil)
		if err != nil {
			return err
		}
		r.Phase, r.Message, r.Accepted = Progressing, "", count(targets, Failed)
		return e.targets.PutRolloutTargets(ctx, accepted(targets))
	})
}

// Abort goes back to the previous version, whatever the wave.
func (e *Engine) Abort(ctx context.Context, by string) (Rollout, error) {
	return e.change(ctx, by, "rollout.aborting", func(_ context.Context, r *Rollout) error {
		switch {
		case r.Phase == Aborting:
			return nil
		case !r.Phase.Active():
			return errcode.New(errcode.Conflict, "the rollout of %s is %s; there is nothing to abort", r.Version, r.Phase)
		case r.PreviousPayload == "":
			return errcode.New(errcode.Conflict, "there is no previous version of %s to go back to; pause the rollout instead", r.Version)
		}
		r.Phase, r.Message = Aborting, "goes back to "+r.Previous
		return nil
	})
}

// change applies a person's command to the latest rollout.
func (e *Engine) change(ctx context.Context, by, kind string, fn func(ctx context.Context, r *Rollout) error) (Rollout, error) {
	var r Rollout
	err := e.writer.Write(ctx, func(ctx context.Context) (err error) {
		r, err = e.rollouts.LatestRollout(ctx, e.subject.Name())
		if errcode.Is(err, errcode.NotFound) {
			return errcode.New(errcode.Conflict, "nothing was ever rolled out")
		}
		if err != nil {
			return err
		}
		before := r
		if err := fn(ctx, &r); err != nil {
			return err
		}
		if before.Phase == r.Phase && before.Message == r.Message && before.Accepted == r.Accepted {
			return nil
		}
		r.UpdatedAt = e.now()
		if err := e.rollouts.UpdateRollout(ctx, r); err != nil {
			return err
		}
		return record(ctx, r, kind, by, r.Version)
	})
	e.Wake()
	return r, err
}

// Latest returns the newest rollout with its targets. NotFound.
func (e *Engine) Latest(ctx context.Context) (Rollout, []Target, error) {
	r, err := e.rollouts.LatestRollout(ctx, e.subject.Name())
	if err != nil {
		return r, nil, err
	}
	targets, err := e.targets.RolloutTargets(ctx, r.ID, nil)
	return r, targets, err
}

func record(ctx context.Context, r Rollout, kind, by, message string) error {
	return event.Record(ctx, event.Entry{Kind: kind, Object: "rollout " + r.Subject, By: by, Message: message})
}

func newID() string {
	var b [10]byte
	rand.Read(b[:])
	return "ro_" + hex.EncodeToString(b[:])
}

// accepted returns the targets that failed, as accepted.
func accepted(targets []Target) (failed []Target) {
	for _, t := range targets {
		if t.State == Failed && t.Excuse != Accepted {
			t.Excuse = Accepted
			failed = append(failed, t)
		}
	}
	return failed
}

func count(targets []Target, s State) int {
	n := 0
	for _, t := range targets {
		if t.State == s {
			n++
		}
	}
	return n
}

// manager returns who manages the rollouts of a subject after the caller starts one. One
// that people started and that has ended stands in nobody's way. The hub's own ones
// change no manager.
func manager(ctx context.Context, last Rollout) (managed.Manager, error) {
	if managed.CallerOf(ctx).By == (managed.Manager{}) {
		return last.ManagedBy, nil
	}
	return managed.Part(ctx, "the upgrade of the agents", last.ManagedBy, last.Phase.Active() || last.ManagedBy.Declares(), true, true)
}
