package upgrade

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// checkRender reports whether the candidate may get the work. A candidate that
// failed, or takes too long, is rolled back.
func (k *Keeper) checkRender(ctx context.Context) (bool, error) {
	r, w, err := k.read(ctx)
	if err != nil {
		return false, err
	}
	k.active.Store(r.Phase == candidateRenders)
	switch {
	case r.Phase == none && r.Key != "":
		return false, k.removeGivenUp(ctx)
	case r.Phase != candidateRenders:
		return false, nil
	case w.State == failed:
		return false, k.giveUp(ctx, r, w.Message)
	case w.State == ready:
		k.config.Log.Info("the new agent rendered everything; handing over the work", logkey.Version, r.Version, logkey.Count, w.Services)
		return true, nil
	case k.config.Clock.Now().Sub(r.Since) > k.config.Within:
		return false, k.giveUp(ctx, r, fmt.Sprintf("it has not rendered everything within %s%s", k.config.Within, k.trouble(ctx)))
	}
	return false, nil
}

// handOver records that the candidate works from now on.
func (k *Keeper) handOver(ctx context.Context) error {
	return k.change(ctx, func(r *record, w *word) bool {
		if r.Phase != candidateRenders || w.State != ready {
			return false
		}
		r.Phase, r.Since = handed, k.config.Clock.Now()
		return true
	})
}

// standBy watches the working candidate until it is healthy or failed.
func (k *Keeper) standBy(ctx context.Context) error {
	for {
		r, w, err := k.read(ctx)
		if err != nil {
			k.config.Log.Warn("cannot check the new agent", logkey.Error, err)
		}
		late := k.config.Clock.Now().Sub(r.Since) > k.config.Within
		switch {
		case err != nil:
		case r.Phase == none || r.Phase == candidateRenders || r.Phase == returning:
			return nil
		case r.Phase == handed && w.State == failed:
			return k.giveUp(ctx, r, w.Message)
		case r.Phase == handed && w.State == good:
			k.config.Log.Info("the new agent works; it replaces this one", logkey.Version, r.Version)
			err = k.commit(ctx)
		case r.Phase == handed && late:
			return k.giveUp(ctx, r, fmt.Sprintf("it was not healthy within %s%s", k.config.Within, k.trouble(ctx)))
		case r.Phase == committing:
			err = k.replace(ctx, r)
		}
		if err != nil {
			k.config.Log.Warn("cannot install the new agent yet", logkey.Error, err)
		}
		if !k.wait(ctx, k.config.Tick) {
			return nil
		}
	}
}

// commit begins the end of this agent: its Deployment becomes the new version.
func (k *Keeper) commit(ctx context.Context) error {
	var r record
	live, err := k.deployment(ctx, Name)
	if err != nil {
		return err
	}
	live.ManagedFields = nil
	previous, err := json.Marshal(live)
	if err != nil {
		return err
	}
	err = k.change(ctx, func(now *record, w *word) bool {
		ok := now.Phase == handed && w.State == good
		if ok {
			now.Phase, now.Since, now.Previous = committing, k.config.Clock.Now(), previous
		}
		r = *now
		return ok
	})
	if err != nil || r.Phase != committing {
		return err
	}
	return k.replace(ctx, r)
}

// revert is called by the working candidate: if the installed agent does not ask for
// the work in time, the candidate reinstalls the previous version, and works until
// that one asks for the work.
func (k *Keeper) revert(ctx context.Context, r record) error {
	if r.Phase == committing && k.config.Clock.Now().Sub(r.Since) > k.config.Within && len(r.Previous) > 0 {
		reason := fmt.Sprintf("the agent was put back to the version before, because version %s did not start as the installed agent within %s%s",
			r.Version, k.config.Within, k.waits(ctx, k.installedPods))
		k.config.Log.Error("rolling back the agent's upgrade", logkey.Version, r.Version, logkey.Reason, reason)
		err := k.change(ctx, func(now *record, _ *word) bool {
			ok := now.Key == r.Key && now.Phase == committing
			if ok {
				now.Phase, now.Since, now.FailedKey, now.Failure = reverting, k.config.Clock.Now(), now.Key, reason
			}
			r = *now
			return ok
		})
		if err != nil {
			return err
		}
	}
	if r.Phase != reverting {
		return nil
	}
	return k.install(ctx, r.Previous)
}

// giveUp rolls the candidate back and stores the reason. The candidate must be gone
// before this agent works again.
func (k *Keeper) giveUp(ctx context.Context, r record, reason string) error {
	reason = fmt.Sprintf("the agent stays as it is, because version %s did not work here: %s", r.Version, reason)
	k.config.Log.Error("rolling back the agent's upgrade", logkey.Version, r.Version, logkey.Reason, reason)
	k.together.Lock()
	mine := false
	err := k.change(ctx, func(now *record, _ *word) bool {
		if mine = now.Key == r.Key; mine {
			now.Phase, now.FailedKey, now.Failure, now.Deployment = none, r.Key, reason, nil
		}
		return mine
	})
	k.together.Unlock()
	if err != nil || !mine {
		return err
	}
	return k.removeGivenUp(ctx)
}

// removeGivenUp removes the candidate of a failed upgrade, unless another one has
// begun. Until it succeeds, the record is checked again.
func (k *Keeper) removeGivenUp(ctx context.Context) error {
	k.active.Store(true)
	k.together.Lock()
	r, _, err := k.read(ctx)
	if err == nil && r.Phase == none {
		err = k.deleteCandidate(ctx)
	}
	k.together.Unlock()
	if err != nil || r.Phase != none {
		return err
	}
	k.active.Store(false)
	return k.candidateGone(ctx)
}

// takeBack runs in the installed new version: it asks the candidate for the work, and
// gets it once the candidate stopped or is gone.
func (k *Keeper) takeBack(ctx context.Context) error {
	err := k.change(ctx, func(r *record, _ *word) bool {
		if r.Phase == none || r.Phase == returning {
			return false
		}
		r.Phase, r.Since = returning, k.config.Clock.Now()
		return true
	})
	if err != nil {
		return err
	}
	since := k.config.Clock.Now()
	for {
		r, w, err := k.read(ctx)
		if err == nil && (r.Phase == none || w.State == done || w.State == "" || k.config.Clock.Now().Sub(since) > goneWithin) {
			break
		}
		if !k.wait(ctx, k.config.Tick) {
			return nil
		}
	}
	if err := k.removeCandidate(ctx); err != nil {
		return err
	}
	k.config.Log.Info("the agent's upgrade is complete", logkey.Version, k.config.Version)
	return k.change(ctx, func(r *record, w *word) bool {
		over := record{}
		if r.Key != "" && r.FailedKey == r.Key {
			over.Key, over.Version, over.FailedKey, over.Failure = r.Key, r.Version, r.FailedKey, r.Failure
		}
		*r, *w = over, word{}
		return true
	})
}

// Wanted is the result of an offer.
type Wanted struct {
	// Same: the installed agent is the wanted one.
	Same bool
	// Failed: it was tried and did not work. Message says what happens.
	Failed  bool
	Message string
}

// errCandidate is a candidate's answer to an offer: the installed agent changes the
// installation, the candidate does not.
var errCandidate = errcode.New(errcode.Unavailable, "the agent is being replaced")
