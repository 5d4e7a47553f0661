package upgrade

import (
	"context"
	"fmt"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// CandidateRender is the result of rendering everything with a candidate.
type CandidateRender struct {
	// Services counts rendered services, Compared those compared with the applied
	// objects, Different those that differ.
	Services, Compared, Different int
	// First names one that differs, and how.
	First string
}

// verdict returns why a render is not good enough, empty if it is.
func (s CandidateRender) verdict() string {
	if s.Different*100 <= s.Compared*differentPercent {
		return ""
	}
	return fmt.Sprintf("it would change %d of %d unchanged services, such as %s", s.Different, s.Compared, s.First)
}

// Work is the parts of an agent that a candidate needs.
type Work struct {
	// Render polls, reads the inventories and renders every service, without writing
	// anything.
	Render func(ctx context.Context) (CandidateRender, error)
	// Run works until its context ends.
	Run func(ctx context.Context) error
	// Good is nil once the work polled and every service had a pass; otherwise it
	// says what is missing.
	Good func() error
}

// RunCandidate runs the new agent beside the installed one: it renders without applying,
// works when it is told to, and hands the work back.
func (k *Keeper) RunCandidate(ctx context.Context, work Work) error {
	r, w := k.awaitRecord(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if r.Key != k.config.Candidate {
		return k.idle(ctx, "this candidate belongs to no upgrade")
	}
	if w.State == failed || w.State == done {
		return k.idle(ctx, "the upgrade is over")
	}
	if r.Phase == candidateRenders && !k.renderAll(ctx, work) {
		return nil
	}
	if !k.awaitWork(ctx) {
		return nil
	}
	return k.atWork(ctx, work)
}

// idle waits until this process is stopped: a candidate without a task must not exit,
// or its Deployment would restart it again and again.
func (k *Keeper) idle(ctx context.Context, why string) error {
	k.config.Log.Info("the candidate waits to be stopped", logkey.Reason, why)
	<-ctx.Done()
	return nil
}

func (k *Keeper) awaitRecord(ctx context.Context) (record, word) {
	backoff := jitter.Backoff{Min: time.Second, Max: 30 * time.Second}
	for {
		r, w, err := k.read(ctx)
		if err == nil {
			return r, w
		}
		k.config.Log.Warn("cannot read the upgrade", logkey.Error, err)
		if !k.wait(ctx, max(time.Second, backoff.Next())) {
			return record{}, word{}
		}
	}
}

// say writes the candidate's side of the ConfigMap, while the upgrade is its own.
func (k *Keeper) say(ctx context.Context, said word) error {
	said.Key, said.At = k.config.Candidate, k.config.Clock.Now()
	return k.change(ctx, func(r *record, w *word) bool {
		if r.Key != k.config.Candidate {
			return false
		}
		*w = said
		return true
	})
}

// insist retries say until it succeeds.
func (k *Keeper) insist(ctx context.Context, said word) {
	backoff := jitter.Backoff{Min: time.Second, Max: 10 * time.Second}
	for {
		err := k.say(ctx, said)
		if err == nil {
			return
		}
		k.config.Log.Warn("the candidate cannot report its state", logkey.Error, err)
		if !k.wait(ctx, max(100*time.Millisecond, backoff.Next())) {
			return
		}
	}
}

// renderAll renders everything and reports the result. Transient failures (an
// unavailable hub or API server) are retried: the installed agent waits for Within.
func (k *Keeper) renderAll(ctx context.Context, work Work) bool {
	k.insist(ctx, word{State: rendering})
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		found, err := work.Render(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			if reason := found.verdict(); reason != "" {
				k.insist(ctx, word{State: failed, Message: reason, Services: found.Services, Different: found.Different})
				_ = k.idle(ctx, reason)
				return false
			}
			k.insist(ctx, word{State: ready, Services: found.Services, Different: found.Different})
			return true
		}
		k.config.Log.Warn("the render failed", logkey.Error, err)
		k.insist(ctx, word{State: rendering, Message: err.Error()})
		if !k.wait(ctx, max(time.Second, backoff.Next())) {
			return false
		}
	}
}

// awaitWork returns true when this candidate should work, false if the context ended
// first.
func (k *Keeper) awaitWork(ctx context.Context) bool {
	for {
		r, _, err := k.read(ctx)
		switch {
		case err != nil:
		case r.Key != k.config.Candidate || r.Phase == none || r.Phase == returning:
			_ = k.idle(ctx, "the upgrade is over")
			return false
		case r.Phase == handed || r.Phase == committing || r.Phase == reverting:
			return true
		}
		if !k.wait(ctx, k.config.Tick) {
			return false
		}
	}
}

// atWork works until the installed agent asks for the work or rolls back.
func (k *Keeper) atWork(ctx context.Context, work Work) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- work.Run(inner) }()
	k.insist(ctx, word{State: working})
	well := false
	for {
		select {
		case err := <-ended:
			if ctx.Err() != nil {
				return nil
			}
			reason := "its work ended by itself"
			if err != nil {
				reason = err.Error()
			}
			k.insist(ctx, word{State: failed, Message: reason})
			return k.idle(ctx, reason)
		case <-k.config.Clock.After(k.config.Tick):
		}
		r, _, err := k.read(ctx)
		if err != nil {
			continue // the API server is unavailable; the present agent keeps working
		}
		if r.Key != k.config.Candidate || r.Phase == none || r.Phase == returning {
			stop()
			<-ended
			k.insist(ctx, word{State: done})
			return k.idle(ctx, "the work was handed back")
		}
		if err := k.revert(ctx, r); err != nil {
			k.config.Log.Warn("cannot reinstall the previous version yet", logkey.Error, err)
		}
		if problem := work.Good(); problem == nil && !well {
			well = true
			k.insist(ctx, word{State: good})
		} else if problem != nil && !well {
			k.insist(ctx, word{State: working, Message: problem.Error()})
		}
	}
}
